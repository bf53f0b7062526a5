import { existsSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { Failure, messageOf } from './failure.mjs';
import { dataDirectory, root } from './paths.mjs';

/** Below 50 MiB, RabbitMQ refuses messages, and MongoDB needs about as much for its log. */
const LEAST_MIB = 128;

/**
 * Detects a full disk. Each part fails differently on one, often without naming the cause.
 * @param {number} [leastMib]
 * @returns {string | undefined} a message that names the disk
 */
export function fullDisk(leastMib = LEAST_MIB) {
  for (const directory of [dataDirectory, root, tmpdir()].filter((path) => existsSync(path))) {
    const { bavail, bsize } = statfsSync(directory);
    const mib = Math.floor((bavail * bsize) / 1024 ** 2);
    if (mib < leastMib)
      return `The disk with ${directory} is full (${mib} MiB are left): free some space and start again.`;
  }
  return undefined;
}

/** The failure message for the user. @param {string} command @param {unknown} error */
export function explain(command, error) {
  const { code } = /** @type {NodeJS.ErrnoException} */ (error ?? {});
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return fullDisk() ?? `The disk is full (${messageOf(error)}): free some space and start again.`;
  if (error instanceof Failure) return [error.message, fullDisk()].filter(Boolean).join('\n');
  return fullDisk() ?? `${command} failed: ${messageOf(error)}`;
}
