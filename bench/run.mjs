/**
 * `npm run bench`: starts the product with its own servers and data, and runs the benchmarks of `bench/`.
 *
 *   npm run bench                    every benchmark
 *   npm run bench -- requests        only the named ones
 *   BENCH_SECONDS=1 BENCH_ROUNDS=1   a short run
 *   LIST_CACHE_MIB=0                 without the cache of lists
 */
import { mkdtempSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { explain } from '../scripts/lib/explain.mjs';
import { Failure, Stopped } from '../scripts/lib/failure.mjs';
import { dataDirectory, nodeBinary, root } from '../scripts/lib/paths.mjs';
import { onEndSignal } from '../scripts/lib/signals.mjs';
import { connectStack } from '../scripts/lib/stack-client.mjs';
import { createTestRun } from '../scripts/lib/test-run.mjs';
import { stopwatch } from '../scripts/lib/time.mjs';
import { preparePeers } from './peers/install.mjs';

const logDirectory = join(dataDirectory, 'bench-logs');
const log = (/** @type {string} */ line) => console.log(line);
const directory = mkdtempSync(join(tmpdir(), 'fitness-bench-'));
const product = createTestRun({ logDirectory, log, directory });
/** @type {Promise<never> | undefined} */
let ending;

/** @param {number} exitCode @returns {Promise<never>} */
function end(exitCode) {
  ending ??= product.end().then(() => process.exit(exitCode));
  return ending;
}

function chosenBenchmarks() {
  const files = readdirSync(join(root, 'bench')).filter((name) => name.endsWith('.bench.ts'));
  const all = files.map((name) => basename(name, '.bench.ts'));
  const selected = process.argv.slice(2);
  const unknown = selected.find((name) => !all.includes(name));
  if (unknown) throw new Failure(`there is no benchmark "${unknown}"; there are: ${all.join(', ')}`);
  return selected.length > 0 ? selected : all;
}

/** @param {string} name @param {NodeJS.ProcessEnv} environment */
async function run(name, environment) {
  log(`\n== ${name}`);
  const child = product.supervisor.start({
    name: 'bench',
    tier: 'tool',
    command: nodeBinary,
    args: ['--disable-warning=ExperimentalWarning', join(root, 'bench', `${name}.bench.ts`)],
    cwd: root,
    env: { ...process.env, ...environment },
  });
  child.endExpected = true;
  await child.exited;
  return child.ended === 'exit code 0';
}

async function main() {
  const names = chosenBenchmarks();
  const peers = await preparePeers(product, { withPeers: names.includes('requests') });
  const servers = await product.startServers('bench');
  const elapsed = stopwatch();
  const stack = await product.startProduct('bench', servers);
  const { LIST_CACHE_MIB } = process.env;
  if (LIST_CACHE_MIB)
    for (const name of ['content', 'gyms']) await connectStack(stack.file).restart(name, { LIST_CACHE_MIB });
  const { mongodb: database, redis: cache, rabbitmq: broker } = servers;
  const environment = {
    ...stack.environment,
    ...peers,
    BENCH_SERVERS: [database, cache, broker].map(({ name, choice }) => `${name}: ${choice}`).join(', '),
  };
  let failed = 0;
  for (const name of names) if (!(await run(name, environment))) failed += 1;
  log(`\n${names.length} benchmarks in ${elapsed()}, ${failed} failed`);
  return failed;
}

onEndSignal(() => void end(130));
let exitCode = 0;
try {
  exitCode = (await main()) > 0 ? 1 : 0;
} catch (error) {
  exitCode = 1;
  if (!(error instanceof Stopped)) log(explain('npm run bench', error));
}
await end(exitCode);
