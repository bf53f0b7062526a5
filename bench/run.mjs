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
import { explain } from '../scripts/lib/explain.mjs';
import { Failure, Stopped } from '../scripts/lib/failure.mjs';
import { ensurePackages } from '../scripts/lib/packages.mjs';
import { dataDirectory, nodeBinary, root } from '../scripts/lib/paths.mjs';
import { handOverToProjectNode, isHandedOver } from '../scripts/lib/project-node.mjs';
import { onEndSignal } from '../scripts/lib/signals.mjs';
import { startStack } from '../scripts/lib/stack.mjs';
import { connectStack } from '../scripts/lib/stack-client.mjs';
import { createSupervisor } from '../scripts/lib/supervisor.mjs';
import { startTestServers } from '../scripts/lib/test-servers.mjs';
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
/** @type {(() => Promise<void>)[]} */
const removals = [];
/** @type {Promise<never> | undefined} */
let ending;

/** @param {number} exitCode @returns {Promise<never>} */
function end(exitCode) {
  ending ??= (async () => {
    await supervisor.stopAll();
    await within(Promise.all(removals.map((remove) => remove())), 10_000);
    if (directory) rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
    process.exit(exitCode);
  })();
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
  const child = supervisor.start({
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
  await ensurePackages({ logFile: join(logDirectory, 'npm-ci.log'), log, development: true });
  await handOverToProjectNode();
  const peers = await preparePeers(
    { supervisor, logDirectory, log },
    { withPeers: names.includes('requests') },
  );
  directory = mkdtempSync(join(tmpdir(), 'fitness-bench-'));
  const servers = await startTestServers(
    { supervisor, directory, removals, logDirectory, log },
    { withS3: false },
  );
  const elapsed = stopwatch();
  const stack = await startStack({ supervisor, servers, directory, logDirectory });
  const { LIST_CACHE_MIB } = process.env;
  if (LIST_CACHE_MIB)
    for (const name of ['content', 'gyms']) await connectStack(stack.file).restart(name, { LIST_CACHE_MIB });
  const { mongodb: database, redis: cache, rabbitmq: broker } = servers;
  const environment = {
    ...servers.environment,
    ...peers,
    BENCH_SERVERS: [database, cache, broker].map(({ name, choice }) => `${name}: ${choice}`).join(', '),
    E2E_BASE_URL: stack.url,
    E2E_SANDBOX_URL: stack.sandboxUrl,
    E2E_STACK: stack.file,
  };
  let failed = 0;
  for (const name of names) if (!(await run(name, environment))) failed += 1;
  log(`\n${names.length} benchmarks in ${elapsed()}, ${failed} failed`);
  return failed;
}

onEndSignal(() => {
  if (!isHandedOver()) void end(130);
});
process.once('exit', () => supervisor.killAll());
let exitCode = 0;
try {
  exitCode = (await main()) > 0 ? 1 : 0;
} catch (error) {
  exitCode = 1;
  if (!(error instanceof Stopped)) log(explain('npm run bench', error));
}
await end(exitCode);
