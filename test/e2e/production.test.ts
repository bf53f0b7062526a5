/** Starts the demo's processes once more, with NODE_ENV=production. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import { productEnvironment } from '../../sandbox/src/providers/index.ts';
import { smsVariables } from '../../services/identity/src/clients/sms-providers/index.ts';
import { channelVariables } from '../../services/store-billing/src/channels/index.ts';
import { stack } from './support.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
/** The servers of tests have no users. These addresses are those of `npm start`. */
const SERVERS = {
  AMQP_URL: 'amqp://fitness:fitness@127.0.0.1:5672',
  MONGODB_URI: 'mongodb://127.0.0.1:27017',
  REDIS_URL: 'redis://127.0.0.1:6379',
};

/** Public variables that point the product at the emulated providers. Private keys are generated at each start. */
const EMULATED = Object.keys(productEnvironment('http://127.0.0.1')).filter(
  (name) => !name.endsWith('_PRIVATE_KEY'),
);

/** Variables that the demo does not set and whose defaults are rejected. */
const WITH_DEFAULT = ['APP_NAME', 'APP_DEVELOPER'];

/** Rejected variables. The gateway only reads the address of Redis. */
const refused: [part: string, main: string, names: string[]][] = [
  [
    'identity',
    'services/identity',
    [
      'PUBLIC_BASE_URL',
      'SANDBOX_URL',
      ...Object.keys(SERVERS),
      ...EMULATED.filter((name) => name in smsVariables),
      'FIRST_ADMINISTRATOR_EMAIL',
      'FIRST_ADMINISTRATOR_PHONE',
      'FIRST_ADMINISTRATOR_PASSWORD',
      'FCM_BASE_URL',
      'FCM_CLIENT_EMAIL',
      'FCM_PROJECT_ID',
      'FCM_TOKEN_URL',
      'SMTP_URL',
    ],
  ],
  [
    'wallet',
    'services/wallet',
    ['PUBLIC_BASE_URL', 'SANDBOX_URL', ...Object.keys(SERVERS), 'ZIBAL_BASE_URL', 'ZIBAL_MERCHANT'],
  ],
  ['gyms', 'services/gyms', ['PUBLIC_BASE_URL', 'SANDBOX_URL', ...Object.keys(SERVERS)]],
  ['content', 'services/content', ['PUBLIC_BASE_URL', 'SANDBOX_URL', ...Object.keys(SERVERS)]],
  ['media', 'services/media', ['PUBLIC_BASE_URL', 'SANDBOX_URL', ...Object.keys(SERVERS)]],
  [
    'store-billing',
    'services/store-billing',
    [
      'PUBLIC_BASE_URL',
      'SANDBOX_URL',
      ...Object.keys(SERVERS),
      ...EMULATED.filter((name) => name in channelVariables),
    ],
  ],
  [
    'gateway',
    'gateway',
    ['PUBLIC_BASE_URL', 'SANDBOX_URL', 'REDIS_URL', 'FIRST_ADMINISTRATOR_PASSWORD', ...WITH_DEFAULT],
  ],
  ['sandbox', 'sandbox', ['NODE_ENV']],
];

const run = async (directory: string, environment: Record<string, string>) => {
  const child = spawn(process.execPath, [join(root, directory, 'src/main.ts')], {
    cwd: root,
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
    // This stops a process that was not rejected.
    timeout: 60_000,
    killSignal: 'SIGKILL',
  });
  const output = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk) => {
    output.stdout += chunk;
  });
  child.stderr.on('data', (chunk) => {
    output.stderr += chunk;
  });
  const [code] = await once(child, 'close');
  return { code, ...output };
};

describe('the demonstration in production', () => {
  test.each(refused)('%s exits with 78 and names its public values', async (part, directory, names) => {
    const { environment } = stack().part(part);
    // If a process started by mistake, it would use other ports and databases.
    const ports = { HTTP_PORT: '0', GRPC_PORT: '0', MONGODB_DATABASE: 'unused' };
    const production = { NODE_ENV: 'production', SEED_DEMO: '0', NODE_NO_WARNINGS: '1' };
    const { code, stdout, stderr } = await run(directory, {
      ...environment,
      ...SERVERS,
      ...ports,
      ...production,
    });
    expect({ code, stdout }).toEqual({ code: 78, stdout: '' });
    const line = stderr.replace(/^sandbox: /, 'Wrong configuration: ');
    expect(line).toMatch(/^Wrong configuration: [^\n]+\n$/);
    const named = line
      .slice('Wrong configuration: '.length)
      .split('; ')
      .map((problem) => problem.split(': ')[0] ?? '');
    expect(named.sort()).toEqual([...names].sort());
    const unset = ['NODE_ENV', ...Object.keys(SERVERS), ...WITH_DEFAULT];
    for (const name of names.filter((each) => !unset.includes(each))) {
      const value = environment[name] ?? '';
      expect(value).not.toBe('');
      // `sandbox` is also a word in another explanation.
      if (value !== 'sandbox') expect(line).not.toContain(value);
    }
    for (const address of Object.values(SERVERS)) expect(line).not.toContain(address);
  });
});
