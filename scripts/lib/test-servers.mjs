import { existsSync, mkdtempSync, readdirSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { messageOf, Stopped } from './failure.mjs';
import { root } from './paths.mjs';
import { freePorts } from './ports.mjs';
import { startRestrictedServers } from './restricted-servers.mjs';
import { startServers } from './servers/index.mjs';
import { startS3 } from './servers/s3.mjs';

/** Deadlines of the product in tests, which a busy machine would otherwise fail. A test about a deadline sets its own. */
export const DEADLINE_FACTOR = '10';

/** A directory in memory if there is space: the MongoDB stand-in waits for the disk on every commit. */
export function makeTemporaryDirectory() {
  const memory = '/dev/shm';
  const gibibytes = (/** @type {string} */ path) => {
    const { bavail, bsize } = statfsSync(path);
    return (bavail * bsize) / 1024 ** 3;
  };
  const base = existsSync(memory) && gibibytes(memory) > 2 ? memory : tmpdir();
  return mkdtempSync(join(base, 'fitness-test-'));
}

/**
 * @typedef {object} TestContext
 * @property {import('./supervisor.mjs').Supervisor} supervisor
 * @property {string} directory for the servers' data
 * @property {(() => Promise<void>)[]} removals collects cleanups for servers that are not child processes of the supervisor
 * @property {string} logDirectory
 * @property {(line: string) => void} log
 */

/**
 * @param {TestContext} testContext
 * @param {{ withS3: boolean, isRestricted?: boolean }} options isRestricted: with the users and permissions of a deployment
 */
export async function startTestServers(
  { supervisor, directory, removals, logDirectory, log },
  { withS3, isRestricted = false },
) {
  const [mongodb = 0, redis = 0, rabbitmq = 0, rabbitmqDistribution = 0, epmd = 0, s3 = 0] =
    await freePorts(6);
  const ports = { mongodb, redis, rabbitmq, rabbitmqDistribution, epmd };
  const context = { supervisor, directory, ephemeral: true, logDirectory, ports, log };
  const onUp = (/** @type {import('./servers/index.mjs').Picked} */ { name, choice, took, reason }) =>
    log(`${name}: ${choice} after ${took} (${reason})`);
  const storage = withS3 ? startObjectStorage(context, s3, onUp) : undefined;
  // Rejections are reported when the promise is awaited, after the other servers.
  storage?.catch(() => {});
  const servers = isRestricted
    ? (await startRestrictedServers(context, onUp)).servers
    : await startServers(context, onUp);
  removals.push(servers.remove);
  const bucketServer = await storage;
  if (bucketServer === undefined) return servers;
  if (bucketServer.remove) removals.push(bucketServer.remove);
  return { ...servers, environment: { ...servers.environment, TEST_S3_ENDPOINT: bucketServer.uri } };
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
