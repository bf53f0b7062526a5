import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { explain } from '../explain.mjs';
import { makeKeys } from '../keys.mjs';
import { dataDirectory } from '../paths.mjs';
import { ensureChromium } from '../servers/chromium.mjs';
import { createSupervisor } from '../supervisor.mjs';
import { DEADLINE_FACTOR, makeTemporaryDirectory, startTestServers } from '../test-servers.mjs';

const logDirectory = join(dataDirectory, 'test-logs', 'jest');
/** Logs to stderr, since stdout belongs to jest. @param {string} line */
const log = (line) => console.error(line);

/** @type {() => Promise<void>} */
let endRun = async () => {};
/** Ends everything that the last {@link prepare} has started. */
export const end = () => endRun();

/**
 * @typedef {object} Run
 * @property {import('../supervisor.mjs').Supervisor} supervisor
 * @property {string} directory
 * @property {string} logDirectory
 * @property {(line: string) => void} log
 * @property {(() => Promise<void>)[]} removals collects cleanups other than ending the processes
 * @property {(withS3?: boolean) => ReturnType<typeof startTestServers>} startServers sets the servers' variables in this process
 *
 * @typedef {Pick<import('@jest/types').Config.ProjectConfig, 'displayName'>} Project
 */

/**
 * Prepares a jest run started by an editor or npx. `npm test` prepares its own runs.
 * @param {Project} project
 * @param {(run: Run) => Promise<unknown>} work
 */
export async function prepare({ displayName }, work) {
  const isByNpmTest = process.env.TEST_RESULTS !== undefined;
  if (isByNpmTest) return;
  mkdirSync(logDirectory, { recursive: true });
  const supervisor = createSupervisor();
  const directory = makeTemporaryDirectory();
  /** @type {(() => Promise<void>)[]} */
  const removals = [];
  /** @type {Promise<void> | undefined} */
  let ending;
  endRun = () => {
    ending ??= (async () => {
      // Nobody needs the servers' data, and RabbitMQ takes seconds for an orderly end.
      supervisor.killAll();
      await supervisor.stopAll();
      await Promise.allSettled(removals.map((remove) => remove()));
      rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
    })();
    return ending;
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
    process.on(signal, () => void end().then(() => process.exit(130)));

  const startServers = async (withS3 = false) => {
    process.env.DEADLINE_FACTOR ??= DEADLINE_FACTOR;
    // Databases in the temporary directory are deleted with the directory.
    if (!process.env.MONGODB_URI) process.env.TEST_KEEP_DATABASES = '1';
    process.env.TEST_KEYS_DIRECTORY = join(directory, 'keys');
    makeKeys(process.env.TEST_KEYS_DIRECTORY);
    const servers = await startTestServers(
      { supervisor, directory, removals, logDirectory, log },
      { withS3 },
    );
    Object.assign(process.env, servers.environment);
    return servers;
  };
  try {
    const needsBrowser = displayName?.name === 'long' || displayName?.name === 'e2e';
    const chromium = needsBrowser ? await ensureChromium({ supervisor, logDirectory, log }) : undefined;
    if (chromium) process.env.TEST_CHROMIUM = chromium;
    await work({ supervisor, directory, logDirectory, log, removals, startServers });
  } catch (error) {
    log(explain('jest', error));
    await end();
    process.exit(1);
  }
}
