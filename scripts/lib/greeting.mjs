import { relative } from 'node:path';
import { dataDirectory } from './paths.mjs';
import { emulatedProviders } from './process-definitions.mjs';

const demoAccounts = [
  ['administrator', 'can do everything'],
  ['operator', 'can do everything except manage roles'],
  ['athlete', 'can delete their account: nothing blocks it'],
  ['owner', 'owns a gym'],
  ['trainer', 'has a trainee who is still waiting for a training service'],
  ['premium', 'has an active premium subscription'],
  ['saver', 'has a balance and a pending withdrawal'],
];

/** @param {string} directory */
const shown = (directory) => `${relative(process.cwd(), directory) || '.'}/`;

/**
 * The text that `npm start` prints when everything is running: addresses, demo accounts, and commands to try.
 * @param {{ gateway: string, operations: string[], sandbox: string | undefined, providerPort: number | undefined, replicas: number, logDirectory: string, inspectors: Map<string, number>, took: string }} where
 */
export function greeting({
  gateway,
  operations: [operations, ...furtherOperations],
  sandbox,
  providerPort,
  replicas,
  logDirectory,
  inspectors,
  took,
}) {
  const json = `-H 'content-type: application/json'`;
  const bearer = `-H "authorization: Bearer $TOKEN"`;
  const addresses = emulatedProviders.map(
    (title, index) => `${title} http://127.0.0.1:${Number(providerPort) + index}`,
  );
  const lines = [
    '',
    `Ready after ${took}. The API is at ${gateway}/api/v1, and its documentation at ${gateway}/docs.`,
    `In a browser: ${gateway}, ${gateway}/account-deletion, and ${gateway}/ops (for operators with two-factor authentication)`,
    `For operators: ${operations}/health/services and ${operations}/metrics`,
    ...(replicas > 1
      ? [
          `${replicas} of each service and of the gateway, behind HAProxy; the same for operators of each further gateway: ${furtherOperations.join(', ')}`,
        ]
      : []),
    ...(sandbox
      ? [
          `Sandbox, with the SMS inbox, payments, and in-app purchases: ${sandbox}`,
          ...(providerPort ? [`  Its providers, for clients with fixed paths: ${addresses.join(', ')}`] : []),
          `A sample app in one page: ${sandbox}/app`,
        ]
      : []),
    '',
    'Demo accounts. The password of each is demo-password-1:',
    ...demoAccounts.map(([name, remark]) => `  ${name?.padEnd(14)} ${remark}`),
    '',
    `Try it: sign in and request the code that deletes the account${sandbox ? ', which the SMS inbox has' : ''}:`,
    `  TOKEN=$(curl -s ${gateway}/api/v1/auth/login ${json} -d '{"login":"athlete","password":"demo-password-1"}' | grep -o '"token":"[^"]*' | cut -d'"' -f4); curl -sw '\\n' ${gateway}/api/v1/auth/me ${bearer}`,
    `  curl -sw '\\n' ${gateway}/api/v1/auth/delete-account ${bearer} ${json} -d '{"current_password":"demo-password-1"}'`,
    ...(sandbox ? [`  curl -sw '\\n' '${sandbox}/_sandbox/sms?receptor=09120000003'`] : []),
    '',
    ...(inspectors.size > 0
      ? [
          `Restarting on a change, each with an inspector: ${[...inspectors].map(([name, port]) => `${name} 127.0.0.1:${port}`).join(', ')}`,
        ]
      : []),
    `Logs: ${shown(logDirectory)}; \`npm run logs\` shows them readable, \`npm run logs -- wallet\` those of one process.`,
    `Ctrl-C ends everything. The data stays in ${shown(dataDirectory)} for the next start.`,
  ];
  return lines.join('\n');
}
