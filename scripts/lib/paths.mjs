import { accessSync, constants, mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = resolve(fileURLToPath(new URL('../..', import.meta.url)));

/** The project's own Node 24, which runs the TypeScript sources; these scripts may run under another version. */
export const nodeBinary = join(root, 'node_modules', 'node', 'bin', 'node');

export const dataDirectory = resolve(root, process.env.DATA_DIRECTORY || '.data');

/** The logs of `npm start`. */
export const logDirectory = join(dataDirectory, 'logs');

/** The record of the processes of `npm start`. */
export const recordFile = join(dataDirectory, 'processes.json');

/** A download directory shared by all clones of this user. @param {string} name */
export function cacheDirectory(name) {
  const base = process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
  const directory = join(base, 'fitness-platform', name);
  mkdirSync(directory, { recursive: true });
  return directory;
}

/**
 * The first executable with this name on the PATH or in the system directories. A user's PATH
 * often lacks /usr/sbin, where Debian puts servers.
 * @param {string} name
 * @returns {string | undefined}
 */
export function findExecutable(name) {
  const directories = [...(process.env.PATH ?? '').split(delimiter), '/usr/local/sbin', '/usr/sbin', '/sbin'];
  for (const directory of directories) {
    if (!directory) continue;
    const candidate = join(directory, name);
    try {
      accessSync(candidate, constants.X_OK);
      return candidate;
    } catch {
      // Not in this directory.
    }
  }
  return undefined;
}
