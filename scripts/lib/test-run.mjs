import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeKeys } from './environment.mjs';
import { messageOf, Stopped } from './failure.mjs';
import { root } from './paths.mjs';
import { freePorts } from './ports.mjs';
import { startRestrictedServers } from './restricted-servers.mjs';
import { startServers } from './servers/index.mjs';
import { useNewestServers } from './servers/newest.mjs';
import { startS3 } from './servers/s3.mjs';
import { DEADLINE_FACTOR, startStack } from './stack.mjs';
import { createSupervisor, lastLines } from './supervisor.mjs';
import { within } from './time.mjs';

/** @typedef {import('./servers/index.mjs').Servers} Servers @typedef {ReturnType<typeof createTestRun>} TestRun */

/** A directory in memory if there is space: the MongoDB stand-in waits for the disk on every commit. */
function makeTemporaryDirectory() {
  const memory = '/dev/shm';
  const gibibytes = (/** @type {string} */ path) => {
    const { bavail, bsize } = statfsSync(path);
    return (bavail * bsize) / 1024 ** 3;
  };
  const base = existsSync(memory) && gibibytes(memory) > 2 ? memory : tmpdir();
  return mkdtempSync(join(base, 'fitness-test-'));
}

/**
 * @typedef {object} ServerOptions
 * @property {boolean} [withS3]
 * @property {boolean} [isNewest] whether they are the ones that the deployments pin
 * @property {boolean} [isRestricted] whether they have the users and permissions of a deployment
 */

/**
 * The servers and products that tests run on, all below one temporary directory.
 * @param {{ logDirectory: string, log: (line: string) => void, directory?: string }} options
 */
export function createTestRun({ logDirectory, log, directory = makeTemporaryDirectory() }) {
  const supervisor = createSupervisor({
    isDisposable: true,
    onUnexpectedExit: (child) =>
      log(`${child.name} has ended by itself (${child.ended}):\n${lastLines(child.logFile, 15)}`),
  });
  process.once('exit', () => supervisor.killAll());
  /** Cleanups for servers that are not child processes of the supervisor. @type {(() => Promise<void>)[]} */
  const removals = [];
  /** Servers start one after another: two starts would install the same program at once. @type {Promise<unknown>} */
  let lastStart = Promise.resolve();

  /** @param {string} part @param {ServerOptions} options @returns {Promise<Servers>} */
  async function start(part, { withS3 = false, isNewest = false, isRestricted = false }) {
    const [mongodb = 0, redis = 0, rabbitmq = 0, rabbitmqDistribution = 0, epmd = 0, s3 = 0] =
      await freePorts(6);
    const context = {
      supervisor,
      directory: join(directory, part),
      ephemeral: true,
      logDirectory: join(logDirectory, part),
      ports: { mongodb, redis, rabbitmq, rabbitmqDistribution, epmd },
      log: (/** @type {string} */ line) => log(`${part}: ${line}`),
    };
    mkdirSync(context.directory, { recursive: true });
    const onUp = (/** @type {import('./servers/index.mjs').Picked} */ { name, choice, took, reason }) =>
      context.log(`${name}: ${choice} after ${took} (${reason})`);
    // The versions and users of servers that the caller chose are outside of our control.
    const areOurs = !['MONGODB_URI', 'REDIS_URL', 'AMQP_URL'].some((variable) => process.env[variable]);
    if (isNewest && areOurs) await useNewestServers(context);
    const [servers, storage] = await Promise.all([
      isRestricted && areOurs ? startRestrictedServers(context, onUp) : startServers(context, onUp),
      withS3 ? startObjectStorage(context, s3, onUp) : undefined,
    ]);
    removals.push(servers.remove, async () => storage?.remove?.());
    return storage
      ? { ...servers, environment: { ...servers.environment, TEST_S3_ENDPOINT: storage.uri } }
      : servers;
  }

  return {
    supervisor,
    directory,
    logDirectory,
    log,
    /**
     * Starts servers after those that were started before.
     * @param {string} part names the directories of their data and logs
     * @param {ServerOptions} [options]
     */
    startServers(part, options = {}) {
      const started = lastStart.then(() => start(part, options));
      // Rejections are reported when the promises are awaited, after the work that needs no server.
      lastStart = started.catch(() => {});
      return started;
    },
    /** @param {string} part @param {Servers} servers @param {number} [replicas] */
    startProduct: (part, servers, replicas) =>
      startStack({ supervisor, servers, directory: join(directory, part), logDirectory, replicas }),
    /** The variables of every test, with the keys of all processes, which are made by the first call. */
    variables() {
      const keys = join(directory, 'keys');
      if (!existsSync(keys)) makeKeys(keys);
      return {
        DEADLINE_FACTOR,
        TEST_KEYS_DIRECTORY: keys,
        // Databases in the temporary directory are deleted with the directory.
        ...(process.env.MONGODB_URI ? {} : { TEST_KEEP_DATABASES: '1' }),
      };
    },
    async end() {
      await supervisor.stopAll();
      await within(Promise.allSettled(removals.map((remove) => remove())), 10_000);
      rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/**
 * Starts S3 storage if possible. Tests that need it fail with a message if it is missing.
 * @param {import('./servers/candidate.mjs').Context} context
 * @param {number} port
 * @param {(picked: import('./servers/index.mjs').Picked) => void} onUp
 */
async function startObjectStorage(context, port, onUp) {
  try {
    const picked = await startS3(context, port);
    onUp(picked);
    return picked;
  } catch (error) {
    if (error instanceof Stopped) throw error;
    context.log(`files in S3 cannot be tested: ${messageOf(error)}`);
    return undefined;
  }
}

/** Whether jest's arguments select tests in a directory. @param {string} directory @param {string[]} forJest path patterns and options */
export function mayRunTestsIn(directory, forJest) {
  const patterns = forJest.filter((argument) => !argument.startsWith('-'));
  const paths = readdirSync(join(root, directory)).map((name) => join(root, directory, name));
  return patterns.length === 0 || patterns.some((pattern) => paths.some((path) => path.match(pattern)));
}
