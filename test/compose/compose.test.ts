/**
 * Tests docker-compose.yml with deploy/demo.env: the product works, and each container reaches only what it needs. Images contain what
 * they need, and an upgrade fails no read. The tests need Docker, and the ports 8080, 8081, those of the sandbox from 8089 on, 8443 and 8444, or others set by
 * the variables of docker-compose.yml.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:https';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { componentsOf, IMAGES } from '../architecture/components.ts';
import { api, deposit, eventually, expectStatus, register } from '../e2e/support.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const PROBE = readFileSync(new URL('probe.mjs', import.meta.url), 'utf8');
const SERVICES = ['identity', 'wallet', 'gyms', 'content', 'media', 'store-billing'];
const PROCESSES = [...SERVICES, 'gateway'];

/** A separate project, so that no other demonstration is deleted. */
const PROJECT = 'fitness-compose-test';

/** The first start builds the image. */
const BUILD_TIMEOUT_MS = 30 * 60_000;
const COMMAND_TIMEOUT_MS = 25 * 60_000;

const OPTIONS = ['--env-file', 'deploy/demo.env', '--project-name', PROJECT];

const run = async (
  command: string,
  args: readonly string[],
  { input = '', env = {} }: { input?: string; env?: Record<string, string> } = {},
): Promise<string> => {
  const child = spawn(command, args, { cwd: root, env: { ...process.env, ...env } });
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
  if (code !== 0) throw new Error(`${command} ${args.join(' ')}: ${`${output}${errors}`.slice(-5_000)}`);
  return output;
};

const succeed = (args: readonly string[], input = '', env: Record<string, string> = {}): Promise<string> =>
  run('docker', ['compose', ...OPTIONS, ...args], { input, env });

const directory = mkdtempSync(join(tmpdir(), 'compose-'));
chmodSync(directory, 0o755);

beforeAll(async () => {
  await succeed(['down', '--volumes', '--remove-orphans']);
  await succeed(['up', '--build', '--detach', '--wait']);
  process.env.E2E_BASE_URL = `http://127.0.0.1:${process.env.GATEWAY_PORT ?? 8080}`;
  process.env.E2E_SANDBOX_URL = `http://127.0.0.1:${process.env.SANDBOX_HTTP_PORT ?? 8090}`;
}, BUILD_TIMEOUT_MS);

afterAll(async () => {
  await succeed(['--profile', 'operator', 'down', '--volumes', '--remove-orphans']);
  rmSync(directory, { recursive: true, force: true });
}, BUILD_TIMEOUT_MS);

test('a user registers, pays, and is notified', async () => {
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

/** The one container that gets each provider secret. */
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

  test('a container reads only its own database and seals', () => {
    const database = `fitness_${name.replaceAll('-', '_')}`;
    const own = isService ? [database, `${database}_audit_seals`] : [];
    expect(reached.databases).toEqual(name === 'wallet' ? [...own, 'fitness_wallet_seals'] : own);
  });

  test('a container reads only its own Redis keys and its own queue', () => {
    expect(reached.redisKeys).toEqual([name]);
    expect(reached.queues).toEqual(isService ? [`fitness.${name}.events.identity.account.deleted`] : []);
  });

  test('a container has only its own secrets', () => {
    expect(reached.credentials).toEqual(isService ? ['AMQP_URL', 'MONGODB_URI', 'REDIS_URL'] : ['REDIS_URL']);
    expect(reached.privateKeys).toEqual([name]);
    expect(reached.authority).toEqual([]);
    const secrets = Object.keys(PROVIDER_SECRETS).filter((secret) => reached.variables.includes(secret));
    expect(secrets).toEqual(
      Object.keys(PROVIDER_SECRETS).filter((secret) => PROVIDER_SECRETS[secret] === name),
    );
  });

  test('a container reaches its servers and, only by TLS, the other processes', () => {
    const servers = isService ? ['mongodb:27017', 'redis:6379', 'rabbitmq:5672'] : ['redis:6379'];
    expect(reached.reachable).toEqual([...servers, ...ofServices]);
    expect(reached.plainAnswers).toEqual([]);
  });
});

describe.each(['fitness-platform', 'fitness-platform-sandbox'] as const)('the image %s', (image) => {
  const MAX_BYTES = 110_000_000;
  const inside = (script: string): Promise<string> =>
    run('docker', ['run', '--rm', image, 'sh', '-c', script]);

  test('an image adds at most 110 MB to Node.js', async () => {
    const history = ['history', '--no-trunc', '--human=false', '--format', '{{.Size}} {{.CreatedBy}}', image];
    const layers = (await run('docker', history)).split('\n');
    const ours = layers.slice(0, layers.findIndex((layer) => layer.includes('MEDIA_DIRECTORY=')) + 1);
    expect(ours.length).toBeGreaterThan(5);
    const bytes = ours.map((layer) => Number.parseInt(layer, 10)).reduce((sum, size) => sum + size, 0);
    expect(bytes).toBeGreaterThan(MAX_BYTES / 10);
    expect(bytes).toBeLessThanOrEqual(MAX_BYTES);
  });

  test('an image contains what its processes load, and no tools or tests', async () => {
    const tools = 'for tool in npm npx corepack yarn tsc; do command -v $tool; done; true';
    expect(await inside(tools)).toBe('');
    const output = await inside(
      "find /app -name '*.test.ts' -o -path '*/src/testing' -o -path '/app/*/test' -prune",
    );
    const ours = output.split('\n').filter((path) => path !== '' && !path.includes('/node_modules/'));
    expect(ours).toEqual([]);
    const folders = await inside('ls /app');
    expect(folders.split('\n').includes('sandbox')).toBe(image === 'fitness-platform-sandbox');
    expect(folders.split('\n').includes('services')).toBe(image === 'fitness-platform');
    expect(await inside('cat /app/NOTICE')).toBe(readFileSync(join(root, 'NOTICE'), 'utf8'));
  });

  test("an image contains the packages in NOTICE, and its bill of materials lists them and the system's", async () => {
    const bom = JSON.parse(await run('npm', ['run', '--silent', 'sbom', '--', image])) as {
      components: { name: string; version: string; purl: string }[];
    };
    const listed = (type: string): string[] =>
      bom.components
        .filter(({ purl }) => purl.startsWith(`pkg:${type}/`))
        .map(({ name, version }) => `${name}@${version}`);
    const packages = listed('npm').filter((name) => !name.startsWith('@fitness/'));
    const named = componentsOf(IMAGES[image], [process.arch]).map(
      ({ name, version }) => `${name}@${version}`,
    );
    expect(packages.sort()).toEqual(named.sort());
    expect(listed('generic')).toEqual([expect.stringMatching(/^node@24\./)]);
    expect(listed('deb')).toContainEqual(expect.stringMatching(/^libc6@/));
  });
});

test('every container has limits for memory, CPU and processes', async () => {
  const ids = (await succeed(['ps', '--all', '--quiet'])).trim().split('\n');
  const format = '{{.Name}} {{.HostConfig.Memory}} {{.HostConfig.NanoCpus}} {{.HostConfig.PidsLimit}}';
  const limits = (await run('docker', ['inspect', '--format', format, ...ids])).trim().split('\n');
  expect(limits.length).toBeGreaterThan(PROCESSES.length);
  expect(limits.filter((line) => !/^\S+ [1-9]\d* [1-9]\d* [1-9]\d*$/.test(line))).toEqual([]);
});

test("a process reads a provider's secret from a file on the host", async () => {
  const file = join(directory, 'merchant');
  writeFileSync(file, 'from-a-file');
  chmodSync(file, 0o644);
  const env = { ZIBAL_MERCHANT: '', ZIBAL_MERCHANT_FILE: file };
  const start = ['run', '--rm', '--no-deps', '-T', 'wallet', 'printenv', 'ZIBAL_MERCHANT'];
  expect(await succeed(start, '', env)).toBe('from-a-file\n');
});

describe('operator commands', () => {
  const start = (...args: string[]): Promise<string> => succeed(['run', '--rm', '-T', ...args]);

  test('operator commands list dead letters, and check the audit logs and the ledger', async () => {
    expect(await start('dead-letters', 'list', 'wallet')).toContain('wallet has 0 dead-lettered events.');
    expect((await start('audit-log')).match(/: intact, head /g)).toHaveLength(SERVICES.length);
    expect(await start('audit-wallet')).toContain('everything adds up');
  });
});

test('keys are rotated while the product runs, without a failed request', async () => {
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

describe('the TLS proxy of deploy/compose.tls.yaml', () => {
  const NEXT = 'fitness-platform:compose-test';
  const certificate = join(directory, 'tls.pem');
  const before = { ...process.env };

  beforeAll(async () => {
    const key = join(directory, 'key.pem');
    const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
    const name = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'];
    await run('openssl', ['req', '-x509', ...curve, ...name, '-keyout', key, '-out', certificate]);
    writeFileSync(certificate, `${readFileSync(certificate, 'utf8')}${readFileSync(key, 'utf8')}`);
    chmodSync(certificate, 0o644);
    const files = process.env.COMPOSE_FILE ?? 'docker-compose.yml';
    process.env.COMPOSE_FILE = [files, 'deploy/compose.tls.yaml'].join(delimiter);
    process.env.TLS_CERTIFICATE_FILE = certificate;
    process.env.HTTPS_PORT ??= '8443';
    process.env.HTTP_PORT ??= '8444';
    await succeed(['up', '--detach', '--wait']);
  }, BUILD_TIMEOUT_MS);

  afterAll(() => {
    for (const name of ['COMPOSE_FILE', 'FITNESS_IMAGE', 'TLS_CERTIFICATE_FILE', 'HTTPS_PORT', 'HTTP_PORT']) {
      if (before[name] === undefined) delete process.env[name];
      else process.env[name] = before[name];
    }
  });

  /** The status code, or the error message. */
  const ask = (path: string): Promise<number | string> =>
    new Promise((resolve) => {
      const url = `https://127.0.0.1:${process.env.HTTPS_PORT}${path}`;
      get(url, { ca: readFileSync(certificate), agent: false }, (answer) => {
        answer.resume();
        answer.on('close', () => resolve(answer.statusCode ?? 0));
      }).on('error', ({ message }) => resolve(message));
    });

  test('the gateway serves only TLS', async () => {
    expect(await ask('/health/ready')).toBe(200);
    const plain = await fetch(`http://127.0.0.1:${process.env.HTTP_PORT}/docs`, { redirect: 'manual' });
    expect([plain.status, plain.headers.get('location')?.split(':')[0]]).toEqual([308, 'https']);
    await expect(fetch(`http://127.0.0.1:${process.env.GATEWAY_PORT ?? 8080}`)).rejects.toThrow();
  });

  test('an upgrade fails no read and has no gap of 3 seconds between responses', async () => {
    await run('docker', ['build', '--tag', NEXT, '-'], {
      input: 'FROM fitness-platform\nLABEL release=next\n',
    });
    process.env.FITNESS_IMAGE = NEXT;
    let isDone = false;
    const failures: string[] = [];
    let last = Date.now();
    let longest = 0;
    const requests = ['/health/live', '/api/v1/cities', '/api/v1/posts'].map(async (path) => {
      while (!isDone) {
        const answer = await ask(path);
        if (answer !== 200) failures.push(`${path}: ${answer}`);
        longest = Math.max(longest, Date.now() - last);
        last = Date.now();
        await sleep(20);
      }
    });
    await run('deploy/compose-upgrade.sh', OPTIONS);
    isDone = true;
    await Promise.all(requests);
    const ids = (await succeed(['ps', '--quiet', ...PROCESSES])).trim().split('\n');
    const running = await run('docker', ['inspect', '--format', '{{.Config.Image}}', ...ids]);
    expect(running.trim().split('\n')).toEqual(PROCESSES.map(() => NEXT));
    expect(failures).toEqual([]);
    process.stdout.write(`An upgrade: the longest time without a response was ${longest} ms.\n`);
    expect(longest).toBeLessThan(3_000);
  });
});
