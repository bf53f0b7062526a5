/**
 * `npm run bench`: starts the product with its own servers and data, and runs the benchmarks of `bench/`.
 *
 *   npm run bench                    every benchmark
 *   npm run bench -- requests        only the named ones
 *   BENCH_SECONDS=1 BENCH_ROUNDS=1   a short run
 *   LIST_CACHE_MIB=0                 without the cache of lists
 */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { remaining } from '../packages/shared/src/kernel/progress.mjs';
import { explain } from '../scripts/lib/explain.mjs';
import { Failure, Stopped } from '../scripts/lib/failure.mjs';
import { dataDirectory, nodeBinary, root } from '../scripts/lib/paths.mjs';
import { freePorts } from '../scripts/lib/ports.mjs';
import { startServers } from '../scripts/lib/servers/index.mjs';
import { onEndSignal } from '../scripts/lib/signals.mjs';
import { startStack } from '../scripts/lib/stack.mjs';
import { connectStack } from '../scripts/lib/stack-client.mjs';
import { createSupervisor } from '../scripts/lib/supervisor.mjs';
import { stopwatch, within } from '../scripts/lib/time.mjs';
import { preparePeers } from './peers/install.mjs';

const logDirectory = join(dataDirectory, 'bench-logs');
const log = (/** @type {string} */ line) => console.log(line);
const supervisor = createSupervisor({
  onUnexpectedExit: (child) =>
    log(`${child.name} has ended by itself (${child.ended}); see ${child.logFile}`),
});
/** @type {string | undefined} */
let directory;
/** @type {() => Promise<void>} */
let removeServers = async () => {};
/** @type {Promise<never> | undefined} */
let ending;

/** @param {number} exitCode @returns {Promise<never>} */
function end(exitCode) {
  ending ??= (async () => {
    await supervisor.stopAll();
    await within(removeServers(), 10_000);
    if (directory) rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
    process.exit(exitCode);
  })();
  return ending;
}

function chosenBenchmarks() {
  const all = readdirSync(join(root, 'bench')).filter((name) => name.endsWith('.bench.ts'));
  const selected = process.argv.slice(2);
  const unknown = selected.find((name) => !all.includes(`${name}.bench.ts`));
  if (unknown) {
    const available = all.map((name) => basename(name, '.bench.ts')).join(', ');
    throw new Failure(`there is no benchmark "${unknown}"; there are: ${available}`);
  }
  return selected.length > 0 ? selected.map((name) => `${name}.bench.ts`) : all;
}

/** @param {string} name @param {NodeJS.ProcessEnv} environment */
async function run(name, environment) {
  log(`\n== ${basename(name, '.bench.ts')}`);
  const child = supervisor.start({
    name: 'bench',
    tier: 'tool',
    command: nodeBinary,
    args: ['--disable-warning=ExperimentalWarning', join(root, 'bench', name)],
    cwd: root,
    env: { ...process.env, ...environment },
  });
  child.endExpected = true;
  await child.exited;
  return child.ended === 'exit code 0';
}

/** @param {ReturnType<typeof connectStack>} product @param {Record<string, string>} environment */
async function restartWith(product, environment) {
  for (const name of ['content', 'gyms']) {
    await product.stop(name);
    await product.start(name, environment);
  }
}

async function main() {
  const names = chosenBenchmarks();
  const withPeers = names.includes('requests.bench.ts');
  const peers = await preparePeers(supervisor, { withPeers, logDirectory, log });
  directory = mkdtempSync(join(tmpdir(), 'fitness-bench-'));
  const [mongodb = 0, redis = 0, rabbitmq = 0, rabbitmqDistribution = 0, epmd = 0] = await freePorts(5);
  const ports = { mongodb, redis, rabbitmq, rabbitmqDistribution, epmd };
  const context = { supervisor, directory, ephemeral: true, logDirectory, ports, log };
  const servers = await startServers(context, ({ name, took, choice }) => log(`${name}: ${choice}, ${took}`));
  removeServers = servers.remove;
  const elapsed = stopwatch();
  const stack = await startStack({ supervisor, servers, directory, logDirectory });
  log(`the product is up after ${elapsed()}`);
  const { LIST_CACHE_MIB } = process.env;
  if (LIST_CACHE_MIB) await restartWith(connectStack(stack.file), { LIST_CACHE_MIB });
  const environment = {
    ...stack.environment,
    ...peers,
    BENCH_SERVERS: [servers.mongodb, servers.redis, servers.rabbitmq]
      .map(({ name, choice }) => `${name}: ${choice}`)
      .join(', '),
  };
  let failed = 0;
  const startedAt = performance.now();
  for (const [index, name] of names.entries()) {
    if (!(await run(name, environment))) failed += 1;
    const [done, total] = [index + 1, names.length];
    const left = remaining({ done, total, elapsedMs: performance.now() - startedAt });
    if (left) log(`\n${done} of ${total} benchmarks done, ${left}`);
  }
  log(`\n${names.length} benchmarks in ${elapsed()}, ${failed} failed`);
  return failed;
}

onEndSignal(() => void end(130));
process.once('exit', () => supervisor.killAll());
let exitCode = 0;
try {
  exitCode = (await main()) > 0 ? 1 : 0;
} catch (error) {
  exitCode = 1;
  if (!(error instanceof Stopped)) log(explain('npm run bench', error));
}
await end(exitCode);
