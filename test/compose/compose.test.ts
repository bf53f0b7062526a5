/**
 * docker-compose.yml with deploy/demo.env: the product works, and each container reaches its own part only. It needs Docker,
 * and the ports 8080, 8081 and 8090.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { api, deposit, eventually, expectStatus, register } from '../e2e/support.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const PROBE = readFileSync(new URL('probe.mjs', import.meta.url), 'utf8');
const SERVICES = ['identity', 'wallet', 'gyms', 'content', 'media', 'store-billing'];
const PROCESSES = [...SERVICES, 'gateway'];

/** A demonstration of its own, so that no other one is deleted. */
const PROJECT = 'fitness-compose-test';

/** The first start builds the image. */
const BUILD_TIMEOUT_MS = 30 * 60_000;
const COMMAND_TIMEOUT_MS = 25 * 60_000;

const compose = async (
  args: readonly string[],
  input = '',
): Promise<{ code: number | null; output: string }> => {
  const options = ['compose', '--env-file', 'deploy/demo.env', '--project-name', PROJECT];
  const child = spawn('docker', [...options, ...args], { cwd: root });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString('utf8');
  });
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString('utf8');
  });
  child.stdin.end(input);
  const timer = setTimeout(() => child.kill('SIGKILL'), COMMAND_TIMEOUT_MS);
  const [code] = (await once(child, 'close')) as [number | null];
  clearTimeout(timer);
  return { code, output: code === 0 ? output : `${output}${errors}` };
};

const succeed = async (args: readonly string[], input?: string): Promise<string> => {
  const { code, output } = await compose(args, input);
  if (code !== 0) throw new Error(`docker compose ${args.join(' ')}: ${output.slice(-5_000)}`);
  return output;
};

beforeAll(async () => {
  await succeed(['down', '--volumes']);
  await succeed(['up', '--build', '--detach', '--wait']);
  process.env.E2E_BASE_URL = 'http://127.0.0.1:8080';
  process.env.E2E_SANDBOX_URL = 'http://127.0.0.1:8090';
}, BUILD_TIMEOUT_MS);

afterAll(async () => {
  await succeed(['--profile', 'operator', 'down', '--volumes']);
}, BUILD_TIMEOUT_MS);

test('a person registers, pays, and is notified', async () => {
  const { token } = await register();
  await deposit(token, 50_000);
  await eventually(async () => {
    const { body } = expectStatus(await api('GET', '/notifications', { token }), 200);
    return body.data.some(({ type }: { type: string }) => type === 'deposit_credited');
  });
});

test('the profile observability is valid', async () => {
  await succeed(['--profile', 'observability', 'config', '--quiet']);
});

interface Reached {
  databases: string[];
  redisKeys: string[];
  queues: string[];
  reachable: string[];
  plainAnswers: string[];
  credentials: string[];
  privateKeys: string[];
  authority: string[];
  variables: string[];
}

/** Which container gets what a provider accepts. */
const PROVIDER_SECRETS: Readonly<Record<string, string>> = {
  KAVENEGAR_API_KEY: 'identity',
  ZIBAL_MERCHANT: 'wallet',
  CAFEBAZAAR_API_SECRET: 'store-billing',
};

describe.each(PROCESSES)('the container %s', (name) => {
  let reached: Reached;
  beforeAll(async () => {
    const output = await succeed(['exec', '-T', name, 'node', '--input-type=module', '-'], PROBE);
    reached = JSON.parse(output.trim().split('\n').at(-1) ?? '') as Reached;
  });
  const isService = name !== 'gateway';
  const ofServices = SERVICES.flatMap((service, index) => [
    `${service}:${8_101 + index}`,
    `${service}:${9_101 + index}`,
  ]);

  test('reads its own database and its own seals only', () => {
    const database = `fitness_${name.replaceAll('-', '_')}`;
    const own = isService ? [database, `${database}_audit_seals`] : [];
    expect(reached.databases).toEqual(name === 'wallet' ? [...own, 'fitness_wallet_seals'] : own);
  });

  test('reads its own keys of Redis and its own queue only', () => {
    expect(reached.redisKeys).toEqual([name]);
    expect(reached.queues).toEqual(isService ? [`fitness.${name}.events`] : []);
  });

  test('has its own secrets only', () => {
    expect(reached.credentials).toEqual(isService ? ['AMQP_URL', 'MONGODB_URI', 'REDIS_URL'] : ['REDIS_URL']);
    expect(reached.privateKeys).toEqual([name]);
    expect(reached.authority).toEqual([]);
    const secrets = Object.keys(PROVIDER_SECRETS).filter((secret) => reached.variables.includes(secret));
    expect(secrets).toEqual(
      Object.keys(PROVIDER_SECRETS).filter((secret) => PROVIDER_SECRETS[secret] === name),
    );
  });

  test('reaches the servers that it uses and the other processes, these by TLS only', () => {
    const servers = isService ? ['mongodb:27017', 'redis:6379', 'rabbitmq:5672'] : ['redis:6379'];
    expect(reached.reachable).toEqual([...servers, ...ofServices]);
    expect(reached.plainAnswers).toEqual([]);
  });
});

describe("the operator's commands", () => {
  const run = (...args: string[]): Promise<string> => succeed(['run', '--rm', '-T', ...args]);

  test('list dead letters, check the audit logs and the ledger', async () => {
    expect(await run('dead-letters', 'list', 'wallet')).toContain('wallet has 0 dead-lettered events.');
    expect((await run('audit-log')).match(/: intact, head /g)).toHaveLength(SERVICES.length);
    expect(await run('audit-wallet')).toContain('everything adds up');
  });
});

test('keys are replaced while the product runs', async () => {
  const cli = 'packages/shared/src/process-identity/keys-cli.ts';
  const rotate = ['node', cli, 'rotate', '/data/keys', 'gateway'];
  const { token } = await register();
  let isDone = false;
  const statuses = new Set<number>();
  const load = (async () => {
    while (!isDone) statuses.add((await api('GET', '/auth/me', { token })).status);
  })();
  await succeed(['run', '--rm', '-T', 'keys', ...rotate]);
  isDone = true;
  await load;
  expect([...statuses]).toEqual([200]);
});
