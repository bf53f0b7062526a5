import { createHash } from 'node:crypto';
import { constants, createReadStream, existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { cp, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { parseEnv } from 'node:util';
import { Failure, messageOf } from './failure.mjs';
import { dataDirectory, root } from './paths.mjs';
import { services } from './process-definitions.mjs';
import { serversOf } from './servers/candidate.mjs';
import { unfinishedRestore } from './standstill.mjs';

/**
 * Files that a backup of one machine omits. Redis holds only data that can be rebuilt, and its old revocations
 * would be wrong. The journals must be newer than every backup, so they stay in place.
 */
const leftOut =
  /^(?:redis|journal|logs|environment|installation\.json.*|last-start\.json|compile-cache|cache|processes\.json.*|standstill\..*|restore-unfinished|replaced-.*|restored-.*|.*\.partial)$/;

const MANIFEST = 'backup.json';

/**
 * @typedef {object} Manifest
 * @property {string} version of the product
 * @property {string} id that of the markers in the journals
 * @property {import('../../packages/shared/src/kernel/journal-markers.mjs').JournalName[]} journals those that have the marker
 * @property {string} made_at the point in time that all data represents
 * @property {Record<string, string>} heads of the chains, `<number>:<hash>`, by name: `ledger`, and each service for its audit log
 * @property {Record<string, { bytes: number, sha256: string }>} files
 */

const version = () => JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version;

/** The journal directory. {@link assertOwnData} compares it with that of the last `npm start`. */
export const journals = () => resolve(root, process.env.JOURNAL_DIRECTORY || join(dataDirectory, 'journal'));

const isOutside = (path = '') => path !== '' && relative(dataDirectory, resolve(root, path)).startsWith('..');

/**
 * Throws if any data is outside the data directory, since only data inside it can be copied. The record of the last start decides:
 * this process may have a different environment, for example under cron.
 * @param {string} command
 */
export function assertOwnData(command) {
  const started = environmentOf('identity');
  const elsewhere = ['MONGODB_URI', 'AMQP_URL', 'MEDIA_DIRECTORY', 'PUBLIC_KEYS_DIRECTORY'].filter(
    (name) => process.env[name] || (name.endsWith('_DIRECTORY') && isOutside(started[name])),
  );
  if (elsewhere.length > 0)
    throw new Failure(
      `${elsewhere.join(' and ')} is set, here or for the last npm start: ${command} knows only what npm start keeps in ${dataDirectory}. docs/guides/operators/backup.md has the commands of other servers.`,
    );
  const { JOURNAL_DIRECTORY: journal = journals() } = started;
  // The services have their default for an empty value.
  const before = resolve(root, journal || '.data/journal');
  if (before !== journals())
    throw new Failure(
      `The last npm start had the journals in ${before}, and ${command} would use those in ${journals()}: set JOURNAL_DIRECTORY as for npm start.`,
    );
  const { engines, given } = serversOf(dataDirectory);
  const withData = given.filter((name) => name !== 'Redis');
  if (withData.length > 0)
    throw new Failure(
      `The data of ${withData.join(' and ')} is in a server that was given to the last npm start: docs/guides/operators/backup.md has the commands.`,
    );
  const inDocker = Object.entries(engines).flatMap(([name, engine]) =>
    engine === 'docker' && name !== 'Redis' ? [name] : [],
  );
  if (inDocker.length > 0)
    throw new Failure(
      `The data of ${inDocker.join(' and ')} is in a volume of Docker: docs/guides/operators/backup.md has the commands.`,
    );
}

/** Throws if the data directory has no database folders: a backup without them would be empty. */
export function assertDatabases() {
  const names = ownData();
  const missing = [
    ['MongoDB', 'mongodb-'],
    ['RabbitMQ', 'rabbitmq'],
  ].flatMap(([server = '', folder = '']) => (names.some((name) => name.startsWith(folder)) ? [] : [server]));
  if (missing.length > 0)
    throw new Failure(
      `${dataDirectory} has no data of ${missing.join(' and ')}: where is it? docs/guides/operators/backup.md has the commands of other servers.`,
    );
}

/** The names in the data directory that a backup includes. */
export const ownData = () =>
  existsSync(dataDirectory) ? readdirSync(dataDirectory).filter((name) => !leftOut.test(name)) : [];

/** @param {string} directory @returns {Promise<string[]>} the files below it, relative */
async function filesBelow(directory) {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => relative(directory, join(entry.parentPath, entry.name)))
    .sort();
}

/** @param {string} path */
async function sha256Of(path) {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}

/** @param {string} name */
function environmentOf(name) {
  try {
    return parseEnv(readFileSync(join(dataDirectory, 'environment', `${name}.env`), 'utf8'));
  } catch {
    return {};
  }
}

/** The newest seals of a running product; empty if the database does not respond. @returns {Promise<Record<string, string>>} */
export async function readHeads() {
  const { MONGODB_URI: uri } = environmentOf('servers');
  if (!uri) return {};
  const { MongoClient } = await import('mongodb');
  const client = new MongoClient(uri, { serverSelectionTimeoutMS: 2_000 });
  const chains = services.flatMap((name) => {
    const { MONGODB_DATABASE: database = `fitness_${name.replaceAll('-', '_')}` } = environmentOf(name);
    const audit = { name, database: `${database}_audit_seals`, collection: 'audit_seals' };
    return name === 'wallet'
      ? [{ name: 'ledger', database: `${database}_seals`, collection: 'ledger_seals' }, audit]
      : [audit];
  });
  /** @type {Record<string, string>} */
  const heads = {};
  try {
    for (const { name, database, collection } of chains) {
      const [head] = await client
        .db(database)
        .collection(collection)
        .find()
        .sort({ _id: -1 })
        .limit(1)
        .toArray();
      if (head) heads[name] = `${head._id}:${head.hash}`;
    }
    return heads;
  } catch {
    return {};
  } finally {
    await client.close();
  }
}

/** Copies the data of a paused product. @param {string} partial @returns {Promise<string>} the time of the data */
export async function copyData(partial) {
  const madeAt = new Date().toISOString();
  for (const name of ownData()) await copy(join(dataDirectory, name), join(partial, 'data', name));
  return madeAt;
}

/** @param {string} from @param {string} to */
const copy = (from, to) =>
  cp(from, to, {
    recursive: true,
    preserveTimestamps: true,
    verbatimSymlinks: true,
    mode: constants.COPYFILE_FICLONE,
    // A stopped server may leave its socket behind.
    filter: async (path) => !(await stat(path)).isSocket(),
  });

/**
 * Writes the checksums and gives the backup its final name.
 * @param {string} target
 * @param {{ partial: string, madeAt: string } & Pick<Manifest, 'id' | 'journals' | 'heads'>} copied
 * @returns {Promise<Manifest>}
 */
export async function sealBackup(target, { partial, madeAt, ...marks }) {
  /** @type {Manifest['files']} */
  const files = {};
  for (const file of await filesBelow(join(partial, 'data'))) {
    const path = join(partial, 'data', file);
    files[file] = { bytes: (await stat(path)).size, sha256: await sha256Of(path) };
  }
  const manifest = { version: version(), made_at: madeAt, ...marks, files };
  await writeFile(join(partial, MANIFEST), `${JSON.stringify(manifest, null, 1)}\n`, { mode: 0o600 });
  await rename(partial, target);
  return manifest;
}

/** @param {string} directory @returns {Promise<Manifest>} */
export async function readManifest(directory) {
  /** @type {Manifest} */
  const manifest = await readFile(join(directory, MANIFEST), 'utf8').then(JSON.parse, (error) => {
    throw new Failure(`${resolve(directory)} is no complete backup (${messageOf(error)}).`);
  });
  const [major] = manifest.version.split('.').map(Number);
  if (major !== undefined && manifest.version.localeCompare(version(), 'en', { numeric: true }) > 0)
    throw new Failure(
      `The backup is of version ${manifest.version}, and this is ${version()}: use that version or a later one.`,
    );
  return manifest;
}

/** Throws unless the files are those of the manifest. @param {string} directory @param {Manifest} manifest */
export async function verifyFiles(directory, manifest) {
  const data = join(directory, 'data');
  const present = new Set(await filesBelow(data));
  for (const [file, { sha256 }] of Object.entries(manifest.files)) {
    if (!present.delete(file)) throw new Failure(`The backup lacks ${file}.`);
    if ((await sha256Of(join(data, file))) !== sha256)
      throw new Failure(`${file} of the backup is not what was backed up: its checksum differs.`);
  }
  const [unknown] = present;
  if (unknown !== undefined) throw new Failure(`${unknown} does not belong to the backup.`);
}

/** Replaces the data with the backup's. The old data is kept until the restore is complete. @param {string} directory */
export async function placeData(directory) {
  const replaced = ownData();
  const backupFolder = join(dataDirectory, `replaced-${new Date().toISOString().replaceAll(/[:.]/g, '-')}`);
  await mkdir(dataDirectory, { recursive: true });
  await writeFile(unfinishedRestore, `${resolve(directory)}\n`);
  if (replaced.length > 0) await mkdir(backupFolder, { mode: 0o700 });
  for (const name of replaced) await rename(join(dataDirectory, name), join(backupFolder, name));
  rmSync(join(dataDirectory, 'redis'), { recursive: true, force: true });
  for (const name of await readdir(join(directory, 'data')))
    await copy(join(directory, 'data', name), join(dataDirectory, name));
}

/**
 * Removes the replaced data, including that of earlier restores that were killed. It contains personal data that
 * must not be kept.
 */
export async function removeReplaced() {
  for (const name of await readdir(dataDirectory))
    if (name.startsWith('replaced-')) await rm(join(dataDirectory, name), { recursive: true });
}

/** @param {Manifest} manifest */
export const bytesOf = ({ files }) => Object.values(files).reduce((sum, { bytes }) => sum + bytes, 0);

/** @param {Manifest} manifest */
export const sizeOf = (manifest) =>
  `${Object.keys(manifest.files).length} files, ${Math.round(bytesOf(manifest) / 1024 ** 2)} MiB`;
