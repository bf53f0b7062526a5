/** Interrupts and repeats deploy/compose-upgrade.sh, with containers that only sleep. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { images } from '../../scripts/lib/servers/images.mjs';

const script = fileURLToPath(new URL('../../deploy/compose-upgrade.sh', import.meta.url));
const PROCESSES = ['identity', 'wallet', 'gyms', 'content', 'media', 'store-billing', 'gateway'];
const JOBS = ['credentials', 'keys', 'mongodb-users', 'rabbitmq-definitions'];
const TIMEOUT_MS = 5 * 60_000;

const directory = mkdtempSync(join(tmpdir(), 'compose upgrade '));
const file = join(directory, 'compose.yaml');
const OPTIONS = ['--project-name', 'fitness-upgrade-test', '--file', file];

const image = process.env.REDIS_IMAGE ?? images.redis;
const job = { image, command: ['true'], network_mode: 'none' };
const sleeper = {
  image,
  command: ['sleep', 'infinity'],
  init: true,
  network_mode: 'none',
  environment: ['RELEASE'],
  healthcheck: { test: '[ "$$RELEASE" != broken ]', interval: '1s', retries: 1 },
};
const everyOne = (names: readonly string[], service: object): object =>
  Object.fromEntries(names.map((name) => [name, service]));

const docker = (args: readonly string[], RELEASE = ''): string => {
  const { status, stdout, stderr } = spawnSync('docker', args, {
    env: { ...process.env, RELEASE },
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`docker ${args.join(' ')}: ${stderr}`);
  return stdout.trim();
};

const OURS = ['project=fitness-upgrade-test', 'oneoff=False'].flatMap((label) => [
  '--filter',
  `label=com.docker.compose.${label}`,
]);

/** `<process> <release> <state> <id>` of every container, sorted. The jobs are left out, because they end during the test. */
const containers = (): string[] => {
  const ids = docker(['ps', '--all', '--no-trunc', '--quiet', ...OURS])
    .split('\n')
    .filter(Boolean);
  if (ids.length === 0) return [];
  const label = '{{index .Config.Labels "com.docker.compose.service"}}';
  const release = '{{index (split (index .Config.Env 0) "=") 1}}';
  const format = `${label} ${release} {{.State.Health.Status}} {{.Id}}`;
  return docker(['inspect', '--format', format, ...ids])
    .split('\n')
    .sort();
};
const withoutIds = (lines: readonly string[]): string[] => lines.map((line) => line.replace(/ \w+$/, ''));
const oneOfEach = (release: string): string[] => PROCESSES.map((name) => `${name} ${release} healthy`).sort();

/** Runs the script in a separate process group, like a command in a terminal. */
const upgrade = (RELEASE: string) => {
  const child = spawn(script, OPTIONS, { detached: true, stdio: 'ignore', env: { ...process.env, RELEASE } });
  return { group: -(child.pid ?? 0), ended: once(child, 'exit').then(([code]) => code as number | null) };
};

/** Runs the script until it waits with two healthy containers of each service. */
const waitingUpgrade = async (release: string) => {
  const started = upgrade(release);
  const services = oneOfEach(release).filter((line) => !line.startsWith('gateway'));
  const arrived = (): string[] => withoutIds(containers()).filter((line) => services.includes(line));
  while (arrived().length < services.length) await sleep(200);
  await sleep(2_000);
  return started;
};

const down = (): string => docker(['compose', ...OPTIONS, 'down', '--timeout', '0', '--remove-orphans']);

beforeAll(() => {
  writeFileSync(
    file,
    JSON.stringify({ services: { ...everyOne(PROCESSES, sleeper), ...everyOne(JOBS, job) } }),
  );
  down();
  docker(['compose', ...OPTIONS, 'up', '--detach', '--wait', ...PROCESSES], 'first');
}, TIMEOUT_MS);

afterAll(() => {
  down();
  rmSync(directory, { recursive: true, force: true });
}, TIMEOUT_MS);

test(
  'an interrupted upgrade keeps the previous containers',
  async () => {
    const former = containers();
    const { group, ended } = await waitingUpgrade('second');
    process.kill(group, 'SIGINT');
    expect(await ended).toBe(1);
    expect(containers()).toEqual(former);
  },
  TIMEOUT_MS,
);

test(
  'an upgrade keeps the previous containers if a new one is unhealthy',
  async () => {
    const former = containers();
    expect(await upgrade('broken').ended).toBe(1);
    expect(containers()).toEqual(former);
  },
  TIMEOUT_MS,
);

test(
  'an upgrade that is repeated after a kill leaves one new container of each process',
  async () => {
    const [stopped = ''] = containers();
    const { group, ended } = await waitingUpgrade('third');
    process.kill(group, 'SIGKILL');
    await ended;
    // The kill may happen while the script stops a previous container.
    docker(['stop', '--time', '0', stopped.split(' ').at(-1) ?? '']);
    expect(await upgrade('fourth').ended).toBe(0);
    expect(withoutIds(containers())).toEqual(oneOfEach('fourth'));
  },
  TIMEOUT_MS,
);

test(
  'an upgrade starts containers that are stopped',
  async () => {
    docker(['compose', ...OPTIONS, 'stop', '--timeout', '0']);
    expect(await upgrade('fifth').ended).toBe(0);
    expect(withoutIds(containers())).toEqual(oneOfEach('fifth'));
  },
  TIMEOUT_MS,
);
