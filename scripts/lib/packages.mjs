import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { withProgress } from '../../packages/shared/src/kernel/progress.mjs';
import { Failure } from './failure.mjs';
import { writeTypes } from './generate/types.mjs';
import { nodeBinary, root } from './paths.mjs';
import {
  claimRecord,
  createSupervisor,
  endLeftovers,
  lastLines,
  runningSupervisor,
  runTool,
} from './supervisor.mjs';
import { pause } from './time.mjs';

/**
 * @typedef {object} LockedPackage
 * @property {string} [version]
 * @property {string} [integrity]
 * @property {boolean} [dev] only development needs it
 * @property {boolean} [optional]
 */

/** @param {string} file @returns {Record<string, LockedPackage>} the packages by path; none without a readable file */
function readLock(file) {
  try {
    return JSON.parse(readFileSync(join(root, file), 'utf8')).packages;
  } catch {
    return {};
  }
}

/** npm's own copy of the lock file, which it writes at the end of an installation. It omits packages of other platforms. */
const installedFile = 'node_modules/.package-lock.json';

/** The packages in the lock file by path, without the workspaces. */
const readLocked = () =>
  Object.entries(readLock('package-lock.json')).filter(([path]) => path.includes('node_modules/'));

/** Names the command that is installing packages. It belongs to the clone, even if its data is elsewhere. */
const recordFile = join(root, '.data', 'installation.json');

/**
 * @typedef {object} Installation
 * @property {boolean} isAddition whether installed packages stay, because the product may be running on them
 * @property {boolean} development whether it includes the packages for development
 * @property {string[]} incomplete paths to remove before it: npm would keep the rest of an interrupted installation
 */

/**
 * @param {boolean} development whether the packages for development are needed
 * @returns {Installation | undefined} undefined if nothing is missing
 */
function missingInstallation(development) {
  const installed = readLock(installedFile);
  const locked = readLocked();
  const outdated = locked.filter(([path, { version, integrity }]) => {
    const existing = installed[path];
    // The link of a workspace has no version.
    return !existing || existing.version !== version || existing.integrity !== integrity;
  });
  const missing = outdated.filter(([path, { optional }]) => installed[path] || !optional);
  const isRunnable = locked.length > 0 && missing.every(([, { dev }]) => dev) && nodeWorks();
  if (isRunnable && (missing.length === 0 || !development)) return undefined;
  if (!isRunnable) {
    const hadDevelopment = Object.values(installed).some(({ dev }) => dev);
    // npm ci removes all packages first. If it is interrupted, they must not look complete.
    return { isAddition: false, development: development || hadDevelopment, incomplete: [installedFile] };
  }
  return { isAddition: true, development, incomplete: outdated.map(([path]) => path) };
}

/** @typedef {(present: number, total: number) => void} OnCount */

/**
 * Counts the installed packages every second while npm runs, because npm writes no progress to a file.
 * @template T
 * @param {boolean} development
 * @param {OnCount} onCount
 * @param {() => Promise<T>} work
 */
async function whileCounting(development, onCount, work) {
  // npm skips optional packages of other platforms.
  const files = readLocked()
    .filter(([, { dev, optional }]) => !optional && (development || !dev))
    .map(([path]) => join(root, path, 'package.json'));
  const count = () => onCount(files.filter((file) => existsSync(file)).length, files.length);
  count();
  const timer = setInterval(count, 1_000);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}

/** @param {import('../../packages/shared/src/kernel/progress.mjs').Progress} progress @returns {OnCount} */
function countIn(progress) {
  let last = 0;
  let expected = 0;
  return (present, total) => {
    progress.expect(total - expected);
    progress.advance('packages', present - last);
    [last, expected] = [present, total];
  };
}

const nodeWorks = () => existsSync(nodeBinary) && spawnSync(nodeBinary, ['--version']).status === 0;

/**
 * An environment that uses npm from outside this project, because the project's own Node is being replaced.
 * @returns {NodeJS.ProcessEnv}
 */
function environmentOutsideProject() {
  const inside = join(root, 'node_modules');
  const path = (process.env.PATH ?? '').split(delimiter).filter((part) => !part.startsWith(inside));
  return { ...process.env, PATH: path.join(delimiter), NODE_ENV: '' };
}

/**
 * Waits for another command that installs packages, and ends npm if its command was killed. Then no other command installs until this one
 * removes its record.
 * @param {(line: string) => void} log
 */
async function untilAlone(log) {
  if (runningSupervisor(recordFile)) log('packages: waiting for another command, which is installing them');
  while (!claimRecord(recordFile)) {
    if (runningSupervisor(recordFile)) await pause(250);
    else await endLeftovers(recordFile);
  }
}

/**
 * @typedef {object} Request
 * @property {string} logFile
 * @property {(line: string) => void} log
 * @property {boolean} [development]
 * @property {OnCount} [onCount] called at once and every second if packages are installed. Without it, the count is logged.
 */

/**
 * Installs the packages in the lock file that the product needs to run, and on request those for development, with the types that are
 * made by them. Development packages that are already installed stay. When this process exits, the installation ends.
 * @param {Request} request
 */
export async function ensurePackages(request) {
  await install(request);
  if (request.development) writeTypes();
}

/** @param {Request} request */
async function install({ logFile, log, development = false, onCount }) {
  if (missingInstallation(development) === undefined) return;
  await untilAlone(log);
  // Another command may have installed them.
  const installation = missingInstallation(development);
  if (!installation) return rmSync(recordFile, { force: true });
  for (const path of installation.incomplete) rmSync(join(root, path), { recursive: true, force: true });
  const supervisor = createSupervisor({ recordFile });
  process.once('exit', () => supervisor.killAll());
  const selection = installation.development ? '--include=dev' : '--omit=dev';
  const npm = (/** @type {string[]} */ ...command) =>
    runTool(supervisor, {
      name: 'npm',
      command: 'npm',
      args: [...command, selection, '--ignore-scripts=false', '--no-audit', '--no-fund'],
      cwd: root,
      env: environmentOutsideProject(),
      logFile,
      append: true,
    });
  const add = () => npm('install', '--no-save');
  // If a registry has packages for one platform only, npm ci rejects a lock file that names others.
  const replace = async () => (await npm('ci')) || (await add());
  const command = installation.isAddition ? 'npm install' : 'npm ci';
  log(`packages: installing with ${command} ${selection} (the first time this takes a minute or two)`);
  const run = (/** @type {OnCount} */ show) =>
    whileCounting(installation.development, show, installation.isAddition ? add : replace);
  const ok = onCount
    ? await run(onCount)
    : await withProgress((progress) => run(countIn(progress)), {
        write: log,
        remainingMs: () => undefined,
      });
  await supervisor.stopAll();
  if (!ok) throw new Failure(`${command} failed; the end of its log:\n${lastLines(logFile, 15)}`);
  if (!nodeWorks()) {
    throw new Failure(
      `${command} did not install the project's own Node (${nodeBinary}): is this platform supported by npm's "node" package?`,
    );
  }
}
