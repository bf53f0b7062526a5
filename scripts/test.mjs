/**
 * `npm test`: runs unit tests and checks, then tests against real servers and of the whole product in parallel.
 *
 *   npm test                                    everything but the long tests
 *   npm test -- --only unit                     one or more of: unit, typecheck, lint, service, architecture, e2e, long,
 *                                               compose
 *   npm test -- --only service,e2e wallet -t x  further arguments go to jest
 *   npm run test:long                           the long tests (docs/testing.md)
 *   npm run test:replicas                       the end-to-end tests on two replicas of each process
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
import { jestFlags } from './lib/node-flags.mjs';
import { ensurePackages } from './lib/packages.mjs';
import { dataDirectory, nodeBinary, root } from './lib/paths.mjs';
import { handOverToProjectNode, isHandedOver } from './lib/project-node.mjs';
import { ensureChromium } from './lib/servers/chromium.mjs';
import { localImages } from './lib/servers/local-images.mjs';
import { isAtLeast, newest, useNewestServers } from './lib/servers/newest.mjs';
import { onEndSignal } from './lib/signals.mjs';
import { startStack } from './lib/stack.mjs';
import { compileCache } from './lib/start-process.mjs';
import { createSupervisor, lastLines, runTool } from './lib/supervisor.mjs';
import { makeTemporaryDirectory, mayRunTestsIn, startTestServers } from './lib/test-servers.mjs';
import { createSummary } from './lib/test-summary.mjs';
import { stopwatch, within } from './lib/time.mjs';

const usualKinds = ['unit', 'typecheck', 'lint', 'service', 'architecture', 'e2e'];
const kinds = [...usualKinds, 'long', 'servers', 'compose', 'replicas'];
/** Tests that depend on the broker and on Redis. The kind `servers` runs them on the newest releases. */
const onServers = {
  ofServices: [
    'packages/shared/test/(messaging|runtime)/',
    'packages/shared/test/mongo/idempotency',
    'services/identity/test/(revocations|[^/]*-limits)',
    'services/[^/]*/test/[^/]*(events|notifications)',
    'gateway/test/credential-cache',
  ],
  ofProduct: [
    'test/e2e/(?![^/]*\\.long\\.)',
    'test/e2e/(least-privilege|revocation|demotion|redis-kinds)\\.long',
  ],
};
const startedAt = Date.now();
const logDirectory = join(dataDirectory, 'test-logs');
const log = (/** @type {string} */ line) => console.log(line);
/** The option that runs tests of any kind on the newest servers. */
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
  const isNewest = only.includes('servers') || args.includes(newestServers);
  return { selected: new Set(only.length > 0 ? only : usual), forJest, isNewest };
}

/** The type checkers are Go programs. With fewer garbage collections than the default (100), they take a fifth less CPU time. */
const goCollections = '400';
/** The keys of all processes, for tests that start some of them. */
const keysDirectory = () => join(/** @type {string} */ (temporary), 'keys');

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
  const env = { ...process.env, GOGC: goCollections };
  const launch = { name, command: nodeBinary, args, cwd: root, env, logFile, timeoutMs: 5 * 60_000 };
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
      ...jestFlags,
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
  // The slowest project takes 20 minutes on two idle cores.
  const deadline = Date.now() + 45 * 60_000;
  let afterResult = 0;
  while (child.ended === undefined) {
    await within(child.exited, 1_000);
    // Jest waits for connections that a test has left open.
    if (existsSync(resultFile)) afterResult += 1;
    if (afterResult > 15 || Date.now() > deadline) {
      const reason =
        afterResult > 15 ? 'a test has left something open' : 'its tests take more than 45 minutes';
      log(`jest does not end by itself: ${reason}`);
      await child.stop(2_000);
    }
  }
}

/**
 * @param {string[]} projects
 * @param {Promise<import('./lib/servers/index.mjs').Servers>} starting
 * @param {NodeJS.ProcessEnv} browser
 * @param {string[]} args
 * @param {{ directory: string, replicas: number }} options
 */
async function runEndToEnd(projects, starting, browser, args, { directory, replicas }) {
  const elapsed = stopwatch();
  let servers;
  let stack;
  try {
    servers = await starting;
    stack = await startStack({ supervisor, servers, directory, logDirectory, replicas });
  } catch (error) {
    if (supervisor.closing) throw new Stopped();
    summary.count(false, `--only ${projects.includes('e2e') ? 'e2e' : 'long'}`);
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
  await runJest(projects, args, environment, directory);
  await stack.close();
}

/** @param {string} name @param {() => Promise<void>} work */
async function runStage(name, work) {
  log(`${clockOf(Date.now() - startedAt)}  == ${name}`);
  await work();
}

async function main() {
  const { selected, forJest, isNewest } = parse(process.argv.slice(2));
  await ensurePackages(supervisor, { logFile: join(logDirectory, 'npm-ci.log'), log });
  await handOverToProjectNode();
  mkdirSync(logDirectory, { recursive: true });
  const directory = makeTemporaryDirectory();
  temporary = directory;
  makeKeys(keysDirectory());
  const isServers = selected.has('servers');
  const isReplicas = selected.has('replicas');
  if (isReplicas) summary.rerunBy = 'npm run test:replicas --';
  if (isNewest) {
    summary.rerunBy = isServers ? 'npm run test:servers --' : `npm test -- ${newestServers}`;
    await useNewestServers({ supervisor, logDirectory, log });
  }
  const chosen = (/** @type {string[]} */ kinds) => kinds.filter((kind) => selected.has(kind));
  const ofServices = isServers ? ['service', 'long'] : chosen(['service', 'long']);
  const ofProduct = mayRunTestsIn('test/e2e', forJest)
    ? isServers
      ? ['e2e', 'e2e-long']
      : isReplicas
        ? ['e2e']
        : chosen(['e2e', 'long']).map((kind) => (kind === 'long' ? 'e2e-long' : kind))
    : [];
  const patternsOf = (/** @type {keyof typeof onServers} */ part) =>
    isServers && forJest.length === 0 ? onServers[part] : forJest;
  const withS3 = !isServers && ofServices.length > 0 && mayRunTestsIn('services/media/test', forJest);
  const starting =
    ofServices.length + ofProduct.length > 0
      ? startTestServers({ supervisor, directory, removals, logDirectory, log }, { withS3 })
      : undefined;
  // End-to-end tests stop servers, so they get their own ones if others run at the same time. Theirs start after the
  // others: two starts would install the same program at once.
  const startingForProduct =
    ofServices.length > 0 && ofProduct.length > 0
      ? starting?.then(() => startOthers({ isRestricted: isServers && !hasGivenServers() }))
      : starting;
  // Rejections are reported when the promises are awaited, after the work that needs no server.
  starting?.catch(() => {});
  startingForProduct?.catch(() => {});
  // Tests often wait for servers, so there is one more worker than processors.
  const workers = ['--maxWorkers', String(availableParallelism() + 1)];
  const runProjects = async (
    /** @type {string[]} */ projects,
    /** @type {NodeJS.ProcessEnv} */ environment,
    args = forJest,
  ) => {
    if (projects.length === 0) return;
    await runStage(`${projects.join(' and ')} tests`, () =>
      runJest(projects, [...workers, ...args], environment, directory),
    );
  };
  await runProjects(chosen(['unit', 'architecture']), {});
  if (selected.has('compose'))
    await runProjects(['compose'], await localImages({ supervisor, logDirectory, log }));
  if (checks.some(({ group }) => selected.has(group))) await runStage('checks', () => runChecks(selected));
  const servers = await starting;
  if (servers && isNewest) assertNewest(servers);
  const chromium = selected.has('long') ? await ensureChromium({ supervisor, logDirectory, log }) : undefined;
  const browser = chromium ? { TEST_CHROMIUM: chromium } : {};
  await Promise.all([
    runProjects(ofServices, { ...servers?.environment, ...browser }, patternsOf('ofServices')),
    startingForProduct && ofProduct.length > 0
      ? runStage('end-to-end tests', () =>
          runEndToEnd(ofProduct, startingForProduct, browser, patternsOf('ofProduct'), {
            directory,
            replicas: isReplicas ? 2 : 1,
          }),
        )
      : undefined,
  ]);
}

/** @param {import('./lib/servers/index.mjs').Servers} servers */
function assertNewest({ redis, rabbitmq }) {
  for (const { name, version } of [redis, rabbitmq]) {
    const least = newest[/** @type {keyof typeof newest} */ (name)];
    if (!isAtLeast(least, version))
      throw new Failure(
        `These tests need ${name} ${least.join('.')}; this one is ${version || 'of an unknown version'}.`,
      );
  }
}

/** Whether the caller chose servers. Their users are outside of our control. */
const hasGivenServers = () =>
  ['MONGODB_URI', 'REDIS_URL', 'AMQP_URL'].some((variable) => process.env[variable]);

/** @param {{ isRestricted: boolean }} options */
async function startOthers({ isRestricted }) {
  const elapsed = stopwatch();
  const directory = join(/** @type {string} */ (temporary), 'e2e');
  mkdirSync(directory);
  const quietly = { logDirectory: join(logDirectory, 'e2e'), log: () => {} };
  const context = { supervisor, directory, removals, ...quietly };
  const servers = await startTestServers(context, { withS3: false, isRestricted });
  log(`the same servers once more, for the end-to-end tests, after ${elapsed()}`);
  return servers;
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
