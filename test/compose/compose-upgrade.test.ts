/** deploy/compose-upgrade.sh, interrupted and repeated, on containers that only sleep. */
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

/** `<process> <release> <state> <id>` of every container, by its process; not of the jobs, which end meanwhile. */
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

/** In a group of its own, like the commands of a terminal. */
const upgrade = (RELEASE: string) => {
  const child = spawn(script, OPTIONS, { detached: true, stdio: 'ignore', env: { ...process.env, RELEASE } });
  return { group: -(child.pid ?? 0), ended: once(child, 'exit').then(([code]) => code as number | null) };
};

/** The script, when it waits with two healthy containers of each service. */
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
  'leaves the former containers when it is interrupted',
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
  'leaves the former containers when a new one is not healthy',
  async () => {
    const former = containers();
    expect(await upgrade('broken').ended).toBe(1);
    expect(containers()).toEqual(former);
  },
  TIMEOUT_MS,
);

test(
  'leaves one new container of each process when it is repeated after it was killed',
  async () => {
    const [stopped = ''] = containers();
    const { group, ended } = await waitingUpgrade('third');
    process.kill(group, 'SIGKILL');
    await ended;
    // Killed while it stopped the former ones.
    docker(['stop', '--time', '0', stopped.split(' ').at(-1) ?? '']);
    expect(await upgrade('fourth').ended).toBe(0);
    expect(withoutIds(containers())).toEqual(oneOfEach('fourth'));
  },
  TIMEOUT_MS,
);

test(
  'starts what does not run',
  async () => {
    docker(['compose', ...OPTIONS, 'stop', '--timeout', '0']);
    expect(await upgrade('fifth').ended).toBe(0);
    expect(withoutIds(containers())).toEqual(oneOfEach('fifth'));
  },
  TIMEOUT_MS,
);
