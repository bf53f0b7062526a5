/**
 * `npm test`: runs the checks while the servers start, then all other tests and, beside them, a smoke test of the whole product.
 *
 *   npm test                                    the usual kinds
 *   npm test -- --only unit                     one or more of: unit, typecheck, lint, service, architecture, smoke, long, e2e,
 *                                               compose
 *   npm test -- --only service wallet -t x      further arguments go to jest
 *   npm test -- --newest-servers                all of them on the servers that the deployments pin
 *   npm run test:long                           the kinds long and e2e on these servers (docs/testing.md)
 *   npm run test:compose                        docker-compose.yml
 */
import { existsSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { clockOf } from '../packages/shared/src/kernel/progress.mjs';
import { checks } from './lib/checks.mjs';
import { explain } from './lib/explain.mjs';
import { Failure, messageOf, Stopped } from './lib/failure.mjs';
import { dataDirectory, nodeBinary, root } from './lib/paths.mjs';
import { ensureChromium } from './lib/servers/chromium.mjs';
import { localImages } from './lib/servers/local-images.mjs';
import { onEndSignal } from './lib/signals.mjs';
import { compileCache } from './lib/start-process.mjs';
import { runTool } from './lib/supervisor.mjs';
import { createTestRun, mayRunTestsIn } from './lib/test-run.mjs';
import { createSummary } from './lib/test-summary.mjs';
import { stopwatch, within } from './lib/time.mjs';

const usualKinds = ['unit', 'typecheck', 'lint', 'service', 'architecture', 'smoke'];
const kinds = [...usualKinds, 'long', 'e2e', 'compose'];
/**
 * The end-to-end tests run once, in the arrangement that finds most: replicas of each process behind HAProxy, on the servers that
 * the deployments pin, with the users and permissions of a deployment. The smoke test runs in that of `npm start`, on the servers of
 * the service tests.
 */
const replicas = { smoke: 1, e2e: 2 };
const startedAt = Date.now();
const log = (/** @type {string} */ line) => console.log(line);
/** The option that runs the tests on the newest servers. */
const newestServers = '--newest-servers';
const summary = createSummary();
const run = createTestRun({ logDirectory: join(dataDirectory, 'test-logs'), log });
const { supervisor, directory, logDirectory } = run;
/** @type {Promise<never> | undefined} */
let ending;

/** @param {number} exitCode @returns {Promise<never>} */
function end(exitCode) {
  ending ??= (async () => {
    await run.end();
    for (const line of summary.lines()) log(line);
    process.exit(exitCode);
  })();
  return ending;
}

/** @param {string[]} args */
function parse(args) {
  /** @type {string[]} */
  const only = [];
  /** @type {string[]} */
  const forJest = [];
  const rest = args.filter((argument) => argument !== newestServers);
  while (rest.length > 0) {
    const argument = rest.shift() ?? '';
    if (argument === '--only') only.push(...(rest.shift() ?? '').split(','));
    else if (argument.startsWith('--only=')) only.push(...argument.slice('--only='.length).split(','));
    else forJest.push(argument);
  }
  const unknown = [...only, ...forJest.filter((argument) => kinds.includes(argument))].find(
    (kind) => !kinds.includes(kind) || !only.includes(kind),
  );
  if (unknown !== undefined)
    throw new Failure(`--only takes a list with commas of ${kinds.join(', ')}; not "${unknown}".`);
  // A selection of test files excludes the checks.
  const usual = usualKinds.filter(
    (kind) => forJest.length === 0 || (kind !== 'typecheck' && kind !== 'lint'),
  );
  const selected = new Set(only.length > 0 ? only : usual);
  return { selected, forJest, isNewest: args.includes(newestServers) };
}

/** The type checkers are Go programs. With fewer garbage collections than the default (100), they take a fifth less CPU time. */
const goCollections = '400';

/** Runs as many checks at a time as there are processors. @param {Set<string>} selected */
async function runChecks(selected) {
  const waiting = checks.filter(({ group }) => selected.has(group));
  const runAll = async () => {
    for (let check = waiting.shift(); check !== undefined; check = waiting.shift()) await runCheck(check);
  };
  await Promise.all(Array.from({ length: availableParallelism() }, runAll));
}

/** @param {import('./lib/checks.mjs').Check} check */
async function runCheck({ name, group, args }) {
  const elapsed = stopwatch();
  const logFile = join(logDirectory, `${name.replaceAll(/\W+/g, '-')}.log`);
  const env = { ...process.env, GOGC: goCollections, NODE_COMPILE_CACHE: compileCache() };
  const launch = { name, command: nodeBinary, args, cwd: root, env, logFile };
  const ok = await runTool(supervisor, launch);
  summary.count(ok, `--only ${group}`);
  log(`${clockOf(Date.now() - startedAt)}  ${ok ? 'ok    ' : 'FAILED'}  ${name} (${elapsed()})`);
  if (!ok) log(readFileSync(logFile, 'utf8').slice(-8_000));
}

/** @param {string[]} projects @param {string[]} args @param {NodeJS.ProcessEnv} environment */
async function runJest(projects, args, environment) {
  const resultFile = join(directory, `results-${projects[0]}.json`);
  const child = supervisor.start({
    name: 'jest',
    tier: 'tool',
    command: nodeBinary,
    args: [
      // The test files of a worker leave a lot of garbage. Fewer collections take a tenth less CPU time.
      ...['--min-semi-space-size=64', '--max-semi-space-size=128'],
      join(root, 'node_modules/jest/bin/jest.js'),
      // These first two options take all values up to the next option.
      ...['--selectProjects', ...projects],
      ...['--reporters=<rootDir>/scripts/lib/jest/reporter.mjs', '--passWithNoTests'],
      ...args,
    ],
    cwd: root,
    env: {
      ...process.env,
      NODE_COMPILE_CACHE: compileCache(),
      ...environment,
      ...run.variables(),
      TEST_RESULTS: resultFile,
      TEST_STARTED_AT: String(startedAt),
    },
  });
  child.endExpected = true;
  await untilJestEnds(child, resultFile);
  if (supervisor.closing) throw new Stopped();
  const result = existsSync(resultFile) ? JSON.parse(readFileSync(resultFile, 'utf8')) : undefined;
  if (result) summary.add(result);
  // Jest may have failed for a reason other than a test.
  if (child.ended !== 'exit code 0' && !(result?.failed > 0)) summary.count(false);
}

/** @param {import('./lib/supervisor.mjs').Child} child @param {string} resultFile */
async function untilJestEnds(child, resultFile) {
  let afterResult = 0;
  while (child.ended === undefined) {
    await within(child.exited, 1_000);
    // Jest waits for connections that a test has left open.
    if (existsSync(resultFile)) afterResult += 1;
    if (afterResult > 15) {
      log('jest does not end by itself: a test has left something open');
      await child.stop(2_000);
    }
  }
}

/**
 * Runs the project `smoke` or `e2e` on a new product.
 * @param {'smoke' | 'e2e'} project
 * @param {Promise<import('./lib/servers/index.mjs').Servers>} starting
 * @param {NodeJS.ProcessEnv} browser
 * @param {string[]} args
 */
async function runOnProduct(project, starting, browser, args) {
  const elapsed = stopwatch();
  let stack;
  try {
    stack = await run.startProduct(project, await starting, replicas[project]);
  } catch (error) {
    if (supervisor.closing) throw new Stopped();
    summary.count(false, `--only ${project}`);
    log(`FAILED  the product does not start: ${messageOf(error)}`);
    return;
  }
  log(`the product is up after ${elapsed()}: ${stack.url}`);
  await runJest([project], args, { ...stack.environment, ...browser });
  await stack.close();
}

/** @param {string} name @param {() => Promise<void>} work */
async function runStage(name, work) {
  log(`${clockOf(Date.now() - startedAt)}  == ${name}`);
  await work();
}

async function main() {
  const { selected, forJest, isNewest } = parse(process.argv.slice(2));
  if (isNewest) summary.rerunBy = `npm test -- ${newestServers}`;
  const hasProduct = (/** @type {string} */ kind) => selected.has(kind) && mayRunTestsIn('test/e2e', forJest);
  const starting = ['service', 'long', 'smoke'].some((kind) => selected.has(kind))
    ? run.startServers('services', {
        withS3: selected.has('long') && mayRunTestsIn('services/media/test', forJest),
        isNewest,
      })
    : undefined;
  // The end-to-end tests stop their servers.
  const ofEndToEnd = hasProduct('e2e')
    ? run.startServers('e2e', { isNewest, isRestricted: true })
    : undefined;
  const runProjects = async (
    /** @type {string[]} */ projects,
    /** @type {NodeJS.ProcessEnv} */ environment,
  ) => {
    if (projects.length === 0) return;
    // Tests often wait for servers, so there is one more worker than processors. The end-to-end tests are one of them.
    const workers = ['--maxWorkers', String(availableParallelism() + (ofEndToEnd ? 0 : 1))];
    await runStage(`${projects.join(', ')} tests`, () =>
      runJest(projects, [...workers, ...forJest], environment),
    );
  };
  if (selected.has('compose')) await runProjects(['compose'], await localImages(run));
  // The servers start meanwhile.
  if (checks.some(({ group }) => selected.has(group))) await runStage('checks', () => runChecks(selected));
  const servers = await starting;
  const needsBrowser = selected.has('long') || selected.has('e2e');
  const chromium = needsBrowser ? await ensureChromium(run) : undefined;
  const browser = chromium ? { TEST_CHROMIUM: chromium } : {};
  const onServers = ['unit', 'architecture', 'service', 'long'].filter((kind) => selected.has(kind));
  await Promise.all([
    // One run for all kinds: a second one would load every module again in each worker.
    runProjects(onServers, { ...servers?.environment, ...browser }),
    starting &&
      hasProduct('smoke') &&
      runStage('smoke tests', () => runOnProduct('smoke', starting, browser, forJest)),
    ofEndToEnd && runStage('end-to-end tests', () => runOnProduct('e2e', ofEndToEnd, browser, forJest)),
  ]);
}

onEndSignal(() => {
  summary.count(false);
  void end(130);
});
try {
  await main();
} catch (error) {
  if (!(error instanceof Stopped)) {
    summary.count(false);
    log(explain('npm test', error));
  }
}
await end(summary.failed > 0 ? 1 : 0);
