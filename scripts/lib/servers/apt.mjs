import { chmodSync, existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findExecutable } from '../paths.mjs';
import { runTool } from '../supervisor.mjs';

/** Debian runs this program to ask whether a package may start its daemon; 101 means no. */
const policyFile = '/usr/sbin/policy-rc.d';

const canInstall = () => process.getuid?.() === 0 && findExecutable('apt-get') !== undefined;

/** Installations run one at a time, because dpkg allows no more. @type {Promise<unknown>} */
let queue = Promise.resolve();
/** @type {Promise<boolean> | undefined} */
let updated;

/** @typedef {Pick<import('./candidate.mjs').Context, 'supervisor' | 'logDirectory' | 'log'>} InstallContext */

/**
 * Finds a program, or installs its Debian package if this process may.
 * @param {InstallContext} context
 * @param {string} program
 * @param {string} [debianPackage]
 */
export async function findOrInstall(context, program, debianPackage = program) {
  const existing = findExecutable(program);
  if (existing) return existing;
  await aptInstall(context, debianPackage);
  return findExecutable(program);
}

/**
 * Installs a Debian package without starting its daemon: this project runs its servers on other ports and in other
 * directories. An existing policy of the machine is left unchanged.
 * @param {InstallContext} context
 * @param {string} name
 * @returns {Promise<boolean>}
 */
export function aptInstall(context, name) {
  if (!canInstall()) return Promise.resolve(false);
  const installed = queue.then(() => install(context, name));
  queue = installed.catch(() => undefined);
  return installed;
}

/** @param {InstallContext} context @param {string} name */
async function install({ supervisor, logDirectory, log }, name) {
  log(`installing ${name} from the Debian packages (once)`);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const logFile = join(logDirectory, 'apt-get.log');
  const run = (/** @type {string} */ command, /** @type {string[]} */ ...args) =>
    runTool(supervisor, { name: 'apt-get', command, args, env, logFile, append: true });
  updated ??= run('apt-get', 'update', '-o', 'Acquire::Retries=2');
  await updated;
  const ownPolicy = !existsSync(policyFile);
  if (ownPolicy) {
    writeFileSync(policyFile, '#!/bin/sh\nexit 101\n');
    chmodSync(policyFile, 0o755);
  }
  const options = ['-y', '--no-install-recommends', '-o', 'DPkg::Lock::Timeout=120'];
  try {
    if (await run('apt-get', 'install', ...options, name)) return true;
    // An earlier installation may have been interrupted.
    await run('dpkg', '--configure', '-a');
    return await run('apt-get', 'install', ...options, name);
  } finally {
    if (ownPolicy) rmSync(policyFile, { force: true });
  }
}
