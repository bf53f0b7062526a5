import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { withProgress } from '../../packages/shared/src/kernel/progress.mjs';
import { Failure } from './failure.mjs';
import { nodeBinary, root } from './paths.mjs';
import { lastLines, runTool } from './supervisor.mjs';

/**
 * @typedef {object} LockedPackage
 * @property {string} [version]
 * @property {string} [integrity]
 * @property {boolean} [optional]
 * @property {boolean} [link]
 * @property {string[]} [os]
 * @property {string[]} [cpu]
 * @property {string[]} [libc]
 */

/**
 * @param {string} file
 * @returns {Record<string, LockedPackage> | undefined}
 */
function readLock(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8')).packages;
  } catch {
    return undefined;
  }
}

/**
 * Compares the lock file with npm's copy of it from the last installation. That copy omits packages of other platforms,
 * so an optional package may be missing.
 */
function installedMatchesLock() {
  const locked = readLock(join(root, 'package-lock.json'));
  const installed = readLock(join(root, 'node_modules', '.package-lock.json'));
  if (!locked || !installed) return false;
  return Object.entries(locked).every(([path, entry]) => {
    if (path === '' || !path.includes('node_modules/')) return true;
    const match = installed[path];
    if (!match) return entry.optional === true;
    return match.version === entry.version && match.integrity === entry.integrity;
  });
}

/** @param {readonly string[] | undefined} allowed @param {string} own */
const allows = (allowed, own) =>
  allowed === undefined ||
  (allowed.some((name) => !name.startsWith('!')) ? allowed.includes(own) : !allowed.includes(`!${own}`));

const libcOf = () => {
  const report = /** @type {{ header: { glibcVersionRuntime?: string } }} */ (process.report.getReport());
  return report.header.glibcVersionRuntime === undefined ? 'musl' : 'glibc';
};

/**
 * Counts installed packages, because npm writes no progress to a file.
 * @param {import('../../packages/shared/src/kernel/progress.mjs').Progress} progress
 */
function countInstalled(progress) {
  const libc = libcOf();
  // Packages of other platforms are not counted, because npm skips them.
  const paths = Object.entries(readLock(join(root, 'package-lock.json')) ?? {})
    .filter(
      ([path, entry]) =>
        path !== '' &&
        allows(entry.os, process.platform) &&
        allows(entry.cpu, process.arch) &&
        allows(entry.libc, libc),
    )
    .map(([path]) => path);
  progress.expect(paths.length, 'packages');
  let counted = 0;
  return () => {
    const present = paths.filter((path) => existsSync(join(root, path, 'package.json'))).length;
    progress.advance('packages', present - counted);
    counted = present;
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
 * Installs the packages in the lock file unless exactly those are already installed.
 * @param {import('./supervisor.mjs').Supervisor} supervisor
 * @param {{ logFile: string, log: (line: string) => void }} options
 */
export async function ensurePackages(supervisor, { logFile, log }) {
  if (installedMatchesLock() && nodeWorks()) return;
  log('packages: installing with npm ci (the first time this takes a minute or two)');
  const npm = (/** @type {string[]} */ command) =>
    runTool(supervisor, {
      name: 'npm',
      command: 'npm',
      args: [...command, '--include=dev', '--ignore-scripts=false', '--no-audit', '--no-fund'],
      cwd: root,
      env: environmentOutsideProject(),
      logFile,
      append: true,
    });
  // If a registry has packages for one platform only, npm ci rejects a lock file that names others.
  const ok = await withProgress(
    async (progress) => {
      const count = countInstalled(progress);
      const timer = setInterval(count, 1_000);
      try {
        return (await npm(['ci'])) || (await npm(['install', '--no-save']));
      } finally {
        clearInterval(timer);
      }
    },
    { write: log, areAlike: false },
  );
  if (!ok) throw new Failure(`npm ci failed; the end of its log:\n${lastLines(logFile, 15)}`);
  if (!nodeWorks()) {
    throw new Failure(
      `npm ci did not install the project's own Node (${nodeBinary}): is this platform supported by npm's "node" package?`,
    );
  }
}
