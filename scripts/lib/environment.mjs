import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { nodeFlags } from './node-flags.mjs';
import { nodeBinary, root } from './paths.mjs';
import { programOf, services, variablePrefix } from './process-definitions.mjs';

/**
 * Reads a secret of the product, or creates it on the first call. Only its owner can read the file.
 * @param {string} directory
 * @param {string} name
 */
function secretIn(directory, name) {
  const file = join(directory, name);
  try {
    const secret = readFileSync(file, 'utf8').trim();
    if (secret.length >= 32) return secret;
  } catch {
    // The secret does not exist before the first start.
  }
  mkdirSync(directory, { recursive: true });
  const secret = randomBytes(48).toString('base64url');
  writeFileSync(file, `${secret}\n`, { mode: 0o600 });
  return secret;
}

/**
 * Runs a TypeScript command with the project's own Node, because `npm start` may run under a Node without TypeScript support.
 * @param {string} script @param {...string} args
 * @returns {string} its output
 */
const runCommand = (script, ...args) =>
  execFileSync(nodeBinary, [...nodeFlags, join(root, script), ...args], { encoding: 'utf8' });

/** Makes the missing key pairs of all processes. @param {string} directory */
export const makeKeys = (directory) =>
  void runCommand('packages/shared/src/process-identity/keys-cli.ts', 'create', directory);

/** The providers' variables. @param {string} sandbox its origin @param {number} [smtpPort] @returns {NodeJS.ProcessEnv} */
const providersInSandbox = (sandbox, smtpPort) =>
  JSON.parse(runCommand('sandbox/src/environment-cli.ts', sandbox, ...(smtpPort ? [String(smtpPort)] : [])));

/**
 * The variables of all processes. The caller's environment takes priority.
 * @param {object} options
 * @param {string} options.directory
 * @param {import('./process-definitions.mjs').ProcessPorts} options.ports of all replicas
 * @param {string} options.publicUrl
 * @param {boolean} options.sandbox whether the sandbox emulates the providers
 * @param {NodeJS.ProcessEnv} options.servers
 * @param {NodeJS.ProcessEnv} [options.caller]
 * @returns {NodeJS.ProcessEnv}
 */
export function sharedEnvironment({ directory, ports, publicUrl, sandbox, servers, caller = process.env }) {
  const origin = (/** @type {string} */ name) => `http://127.0.0.1:${ports.get(name)?.http}`;
  /** @type {NodeJS.ProcessEnv} */
  const addresses = {};
  for (const name of services) {
    const replicas = [...ports.keys()].filter((each) => programOf(each) === name);
    const grpc = replicas.map((each) => `127.0.0.1:${ports.get(each)?.grpc}`);
    addresses[`${variablePrefix(name)}_GRPC_ADDRESS`] = grpc.join(',');
    addresses[`${variablePrefix(name)}_HTTP_URL`] = replicas.map(origin).join(',');
  }
  const keys = join(directory, 'keys');
  if (!caller.PUBLIC_KEYS_DIRECTORY) makeKeys(keys);
  return {
    HOST: '127.0.0.1',
    EVENTS_NAMESPACE: 'fitness',
    SEED_DEMO: '1',
    PUBLIC_BASE_URL: publicUrl,
    // These are for the balancer in front of several gateways, which checks twice a second whether each one is ready.
    ...(origin('gateway') === publicUrl ? {} : { TRUST_PROXY: '1', DRAIN_MS: '1500' }),
    MEDIA_DIRECTORY: join(directory, 'media'),
    JOURNAL_DIRECTORY: join(directory, 'journal'),
    CLOCK_FILE: join(directory, 'sandbox-clock'),
    FIRST_ADMINISTRATOR_USERNAME: 'administrator',
    FIRST_ADMINISTRATOR_EMAIL: 'administrator@example.com',
    FIRST_ADMINISTRATOR_PHONE: '+989120000001',
    FIRST_ADMINISTRATOR_PASSWORD: 'demo-password-1',
    PUBLIC_KEYS_DIRECTORY: join(keys, 'public'),
    OAUTH_SECRET: caller.OAUTH_SECRET ?? secretIn(directory, 'oauth-secret'),
    SECOND_FACTOR_KEY: caller.SECOND_FACTOR_KEY ?? secretIn(directory, 'second-factor-key'),
    ...addresses,
    ...(sandbox ? providersInSandbox(origin('sandbox'), ports.get('sandbox')?.smtp) : {}),
    ...caller,
    // These were chosen earlier, when the caller's environment already took priority.
    ...servers,
  };
}

/**
 * Additional variables of one process.
 * @param {import('./process-definitions.mjs').Process} part
 * @param {import('./process-definitions.mjs').ProcessPorts} ports
 * @param {NodeJS.ProcessEnv} environment the variables of all processes
 * @returns {NodeJS.ProcessEnv}
 */
export function ownEnvironment({ name }, ports, environment) {
  const { http, grpc, operations, provider, smtp } = ports.get(name) ?? {};
  const program = programOf(name);
  const database = `${variablePrefix(program)}_MONGODB_DATABASE`;
  const keys = dirname(environment.PUBLIC_KEYS_DIRECTORY ?? '');
  return {
    HTTP_PORT: String(http),
    PRIVATE_KEY_DIRECTORY: join(keys, 'private', program),
    ...(grpc ? { GRPC_PORT: String(grpc) } : {}),
    ...(operations ? { OPERATIONS_PORT: String(operations) } : {}),
    // Tests do not call the providers' own addresses, so any free port will do.
    ...(name === 'sandbox' ? { PROVIDER_PORT: String(provider ?? 0), SMTP_PORT: String(smtp ?? 0) } : {}),
    ...(services.includes(program)
      ? {
          MONGODB_DATABASE:
            environment[database] ?? process.env[database] ?? `fitness_${program.replaceAll('-', '_')}`,
        }
      : {}),
  };
}
