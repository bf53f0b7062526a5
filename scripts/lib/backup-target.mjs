import { existsSync, mkdirSync, readdirSync, realpathSync, rmSync, statfsSync, statSync } from 'node:fs';
import { basename, dirname, join, sep } from 'node:path';
import { ownData } from './backup.mjs';
import { Failure, messageOf } from './failure.mjs';
import { dataDirectory } from './paths.mjs';

/** The bytes of the data that a backup includes. */
function dataBytes() {
  const files = ownData().flatMap((name) => {
    const path = join(dataDirectory, name);
    const below = statSync(path).isDirectory() ? readdirSync(path, { recursive: true }).map(String) : [''];
    return below.map((file) => join(path, file));
  });
  // A running product removes files meanwhile.
  return files.reduce((sum, file) => sum + (statSync(file, { throwIfNoEntry: false })?.size ?? 0), 0);
}

/** Throws unless the disk of `directory` has room. @param {string} directory @param {number} bytes */
export function assertRoom(directory, bytes) {
  const { bavail, bsize } = statfsSync(directory);
  const [needed, free] = [bytes, bavail * bsize].map((each) => Math.ceil(each / 1024 ** 2));
  if (bytes > bavail * bsize)
    throw new Failure(`${directory} has room for ${free} MiB, and the data has ${needed} MiB.`);
}

/** The path with its links resolved. Its last parts need not exist. @param {string} path @returns {string} */
const realPathOf = (path) =>
  existsSync(path) ? realpathSync(path) : join(realPathOf(dirname(path)), basename(path));

/**
 * Throws unless a backup can be written to `target`. Makes the folder that gets this name when the backup is complete. Nothing has to stop
 * for this.
 * @param {string} target
 * @returns {string} the folder
 */
export function prepareTarget(target) {
  const partial = `${target}.partial`;
  if (existsSync(target)) throw new Failure(`${target} exists already: a backup overwrites nothing.`);
  if (`${realPathOf(target)}${sep}`.startsWith(`${realpathSync(dataDirectory)}${sep}`))
    throw new Failure(`${target} is inside ${dataDirectory}: a backup must survive the loss of that folder.`);
  try {
    rmSync(partial, { recursive: true, force: true });
    mkdirSync(join(partial, 'data'), { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new Failure(`No backup can be written to ${target}: ${messageOf(error)}`);
  }
  assertRoom(partial, dataBytes());
  return partial;
}
