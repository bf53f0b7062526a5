import { chmodSync, existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findExecutable } from '../paths.mjs';
import { runTool } from '../supervisor.mjs';

/** Debian runs this program to ask whether a package may start its daemon; 101 means no. */
const policyFile = '/usr/sbin/policy-rc.d';

export const canInstall = () => process.getuid?.() === 0 && findExecutable('apt-get') !== undefined;

/** Installations run one at a time, because dpkg allows no more. @type {Promise<unknown>} */
let queue = Promise.resolve();
/** @type {Promise<boolean> | undefined} */
let updated;

/**
 * Installs Debian packages without starting their daemons: this project runs its servers on other ports and in other
 * directories. An existing policy of the machine is left unchanged.
 * @param {import('../supervisor.mjs').Supervisor} supervisor
 * @param {string[]} packages
 * @param {string} logDirectory
 * @returns {Promise<boolean>}
 */
export function aptInstall(supervisor, packages, logDirectory) {
  const installed = queue.then(() => install(supervisor, packages, logDirectory));
  queue = installed.catch(() => undefined);
  return installed;
}

/** @param {import('../supervisor.mjs').Supervisor} supervisor @param {string[]} packages @param {string} logDirectory */
async function install(supervisor, packages, logDirectory) {
  const aptGet = findExecutable('apt-get');
  if (!aptGet) return false;
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const logFile = join(logDirectory, 'apt-get.log');
  const run = (/** @type {string} */ command, /** @type {string[]} */ args) =>
    runTool(supervisor, { name: 'apt-get', command, args, env, logFile, append: true });
  updated ??= run(aptGet, ['update', '-o', 'Acquire::Retries=2']);
  await updated;
  const ownPolicy = !existsSync(policyFile);
  if (ownPolicy) {
    writeFileSync(policyFile, '#!/bin/sh\nexit 101\n');
    chmodSync(policyFile, 0o755);
  }
  const installArguments = [
    'install',
    '-y',
    '--no-install-recommends',
    '-o',
    'DPkg::Lock::Timeout=120',
    ...packages,
  ];
  try {
    if (await run(aptGet, installArguments)) return true;
    // An earlier installation may have been interrupted.
    await run('dpkg', ['--configure', '-a']);
    return await run(aptGet, installArguments);
  } finally {
    if (ownPolicy) rmSync(policyFile, { force: true });
  }
}
