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
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { clockOf } from '../packages/shared/src/kernel/progress.mjs';
import { checks } from './lib/checks.mjs';
import { explain } from './lib/explain.mjs';
import { Failure, messageOf, Stopped } from './lib/failure.mjs';
import { makeKeys } from './lib/keys.mjs';
import { ensurePackages } from './lib/packages.mjs';
import { dataDirectory, nodeBinary, root } from './lib/paths.mjs';
import { handOverToProjectNode, isHandedOver } from './lib/project-node.mjs';
import { ensureChromium } from './lib/servers/chromium.mjs';
import { localImages } from './lib/servers/local-images.mjs';
import { useNewestServers } from './lib/servers/newest.mjs';
import { onEndSignal } from './lib/signals.mjs';
import { startStack } from './lib/stack.mjs';
import { compileCache } from './lib/start-process.mjs';
import { createSupervisor, lastLines, runTool } from './lib/supervisor.mjs';
import {
  DEADLINE_FACTOR,
  makeTemporaryDirectory,
  mayRunTestsIn,
  startTestServers,
} from './lib/test-servers.mjs';
import { createSummary } from './lib/test-summary.mjs';
import { stopwatch, within } from './lib/time.mjs';

const usualKinds = ['unit', 'typecheck', 'lint', 'service', 'architecture', 'smoke'];
const kinds = [...usualKinds, 'long', 'e2e', 'compose'];
/**
 * The end-to-end tests run once, in the arrangement that finds most: replicas of each process behind HAProxy, on the servers that
 * the deployments pin, with the users and permissions of a deployment. The smoke test runs in that of `npm start`, on the servers of
 * the service tests.
 */
const END_TO_END = { replicas: 2, isRestricted: true };
const startedAt = Date.now();
const logDirectory = join(dataDirectory, 'test-logs');
const log = (/** @type {string} */ line) => console.log(line);
/** The option that runs the tests on the newest servers. */
const newestServers = '--newest-servers';
const summary = createSummary();
const supervisor = createSupervisor({
  onUnexpectedExit: (child) =>
    log(`${child.name} has ended by itself (${child.ended}):\n${lastLines(child.logFile, 15)}`),
});
/** @type {string | undefined} */
let temporary;
/** @type {(() => Promise<void>)[]} cleanups for servers that are not child processes of the supervisor */
const removals = [];
/** @type {Promise<never> | undefined} */
let ending;

/** @param {number} exitCode @returns {Promise<never>} */
function end(exitCode) {
  ending ??= (async () => {
    await supervisor.stopAll();
    await within(Promise.allSettled(removals.map((remove) => remove())), 10_000);
    if (temporary) rmSync(temporary, { recursive: true, force: true, maxRetries: 5 });
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
/** The keys of all processes, for tests that start some of them. They are made at the first call. */
function keysDirectory() {
  const directory = join(/** @type {string} */ (temporary), 'keys');
  if (!existsSync(directory)) makeKeys(directory);
  return directory;
}

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

/**
 * @param {string[]} projects
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} environment
 * @param {string} directory
 */
async function runJest(projects, args, environment, directory) {
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
      DEADLINE_FACTOR,
      ...environment,
      TEST_KEYS_DIRECTORY: keysDirectory(),
      TEST_RESULTS: resultFile,
      TEST_STARTED_AT: String(startedAt),
      // Databases in the temporary directory are deleted with the directory.
      ...(process.env.MONGODB_URI ? {} : { TEST_KEEP_DATABASES: '1' }),
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
  let servers;
  let stack;
  const directory = join(/** @type {string} */ (temporary), project);
  const replicas = project === 'e2e' ? END_TO_END.replicas : 1;
  try {
    servers = await starting;
    stack = await startStack({ supervisor, servers, directory, logDirectory, replicas });
  } catch (error) {
    if (supervisor.closing) throw new Stopped();
    summary.count(false, `--only ${project}`);
    log(`FAILED  the product does not start: ${messageOf(error)}`);
    return;
  }
  log(`the product is up after ${elapsed()}: ${stack.url}`);
  const environment = {
    ...servers.environment,
    ...browser,
    E2E_BASE_URL: stack.url,
    E2E_SANDBOX_URL: stack.sandboxUrl,
    E2E_STACK: stack.file,
  };
  await runJest([project], args, environment, directory);
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
  await ensurePackages({
    logFile: join(logDirectory, 'npm-ci.log'),
    log,
    development: true,
  });
  await handOverToProjectNode();
  mkdirSync(logDirectory, { recursive: true });
  const directory = makeTemporaryDirectory();
  temporary = directory;
  const chosen = (/** @type {string[]} */ kinds) => kinds.filter((kind) => selected.has(kind));
  const onProduct = /** @type {('smoke' | 'e2e')[]} */ (chosen(['smoke', 'e2e'])).filter(() =>
    mayRunTestsIn('test/e2e', forJest),
  );
  const isOnShared = (/** @type {string} */ kind) => ['service', 'long', 'smoke'].includes(kind);
  const starting = [...selected].some(isOnShared)
    ? startNext('services', {
        withS3: selected.has('long') && mayRunTestsIn('services/media/test', forJest),
        isNewest,
      })
    : undefined;
  // The end-to-end tests stop their servers.
  const ofEndToEnd = onProduct.includes('e2e')
    ? startNext('e2e', { isNewest, isRestricted: END_TO_END.isRestricted })
    : undefined;
  // Tests often wait for servers, so there is one more worker than processors.
  const workers = ['--maxWorkers', String(availableParallelism() + 1)];
  const runProjects = async (
    /** @type {string[]} */ projects,
    /** @type {NodeJS.ProcessEnv} */ environment,
  ) => {
    if (projects.length === 0) return;
    await runStage(`${projects.join(', ')} tests`, () =>
      runJest(projects, [...workers, ...forJest], environment, directory),
    );
  };
  if (selected.has('compose'))
    await runProjects(['compose'], await localImages({ supervisor, logDirectory, log }));
  // The servers start meanwhile.
  if (checks.some(({ group }) => selected.has(group))) await runStage('checks', () => runChecks(selected));
  const servers = await starting;
  const needsBrowser = selected.has('long') || selected.has('e2e');
  const chromium = needsBrowser ? await ensureChromium({ supervisor, logDirectory, log }) : undefined;
  const browser = chromium ? { TEST_CHROMIUM: chromium } : {};
  await Promise.all([
    // One run for all kinds: a second one would load every module again in each worker.
    runProjects(chosen(['unit', 'architecture', 'service', 'long']), { ...servers?.environment, ...browser }),
    starting &&
      onProduct.includes('smoke') &&
      runStage('smoke tests', () => runOnProduct('smoke', starting, browser, forJest)),
    ofEndToEnd && runStage('end-to-end tests', () => runOnProduct('e2e', ofEndToEnd, browser, forJest)),
  ]);
}

/** Whether the caller chose servers. Their versions and users are outside of our control. */
const hasGivenServers = () =>
  ['MONGODB_URI', 'REDIS_URL', 'AMQP_URL'].some((variable) => process.env[variable]);

/** Servers start one after another: two starts would install the same program at once. @type {Promise<unknown>} */
let lastStart = Promise.resolve();

/**
 * Starts the servers of one part of the tests after those of the part before.
 * @param {string} part names the directories of their data and logs
 * @param {{ withS3?: boolean, isNewest?: boolean, isRestricted?: boolean }} [options]
 */
function startNext(part, options) {
  const started = lastStart.then(() => startServersOf(part, options));
  // Rejections are reported when the promises are awaited, after the work that needs no server.
  started.catch(() => {});
  lastStart = started.catch(() => {});
  return started;
}

/** @param {string} part @param {{ withS3?: boolean, isNewest?: boolean, isRestricted?: boolean }} [options] */
async function startServersOf(part, { withS3 = false, isNewest = false, isRestricted = false } = {}) {
  const directory = join(/** @type {string} */ (temporary), part);
  mkdirSync(directory);
  const context = {
    supervisor,
    directory,
    removals,
    logDirectory: join(logDirectory, part),
    log: (/** @type {string} */ line) => log(`${part}: ${line}`),
  };
  const isOurs = !hasGivenServers();
  if (isNewest && isOurs) await useNewestServers(context);
  return startTestServers(context, { withS3, isRestricted: isRestricted && isOurs });
}

onEndSignal(() => {
  if (isHandedOver()) return;
  summary.count(false);
  void end(130);
});
process.once('exit', () => supervisor.killAll());
try {
  await main();
} catch (error) {
  if (!(error instanceof Stopped)) {
    summary.count(false);
    log(explain('npm test', error));
  }
}
await end(summary.failed > 0 ? 1 : 0);
