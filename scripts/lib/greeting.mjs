import { emulatedProviders } from './process-definitions.mjs';

const demoAccounts = [
  ['administrator', 'may do everything'],
  ['operator', 'may do everything but manage roles'],
  ['athlete', 'nothing blocks a deletion'],
  ['owner', 'owns a gym'],
  ['trainer', 'has an undelivered trainee'],
  ['premium', 'has an active subscription'],
  ['saver', 'has a balance and a pending withdrawal'],
];

/**
 * The text that `npm start` prints when everything is up: addresses, log-ins, and commands to try.
 * @param {{ gateway: string, operations: string, sandbox: string | undefined, providerPort: number | undefined, took: string }} where
 */
export function greeting({ gateway, operations, sandbox, providerPort, took }) {
  const json = `-H 'content-type: application/json'`;
  const bearer = `-H "authorization: Bearer $TOKEN"`;
  const addresses = emulatedProviders.map(
    (title, index) => `${title} http://127.0.0.1:${Number(providerPort) + index}`,
  );
  const lines = [
    '',
    `Ready after ${took}: ${gateway}/api/v1   (documentation: ${gateway}/docs)`,
    `In a browser: ${gateway}, ${gateway}/account-deletion, and ${gateway}/ops for operators with a second factor`,
    `For operators: ${operations}/health/services and ${operations}/metrics`,
    ...(sandbox
      ? [
          `Sandbox, with the SMS inbox, payments and store purchases: ${sandbox}`,
          ...(providerPort ? [`  its providers for clients with fixed paths: ${addresses.join(', ')}`] : []),
        ]
      : []),
    '',
    'Demo log-ins, each with the password demo-password-1:',
    ...demoAccounts.map(([name, remark]) => `  ${name?.padEnd(14)} ${remark}`),
    '',
    'To try (the second asks for the code by which an account is deleted, the third shows its SMS):',
    `  TOKEN=$(curl -s ${gateway}/api/v1/auth/login ${json} -d '{"login":"athlete","password":"demo-password-1"}' | grep -o '"token":"[^"]*' | cut -d'"' -f4); curl -sw '\\n' ${gateway}/api/v1/auth/me ${bearer}`,
    `  curl -sw '\\n' ${gateway}/api/v1/auth/delete-account ${bearer} ${json} -d '{"current_password":"demo-password-1"}'`,
    sandbox
      ? `  curl -sw '\\n' '${sandbox}/_sandbox/sms?receptor=09120000003'`
      : `  curl -sw '\\n' ${operations}/health/services`,
    '',
    'Ctrl-C ends everything. The data stays in .data/ for the next start.',
  ];
  return lines.join('\n');
}
