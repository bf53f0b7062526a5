/**
 * A directory on the local disk for uploads that are not accepted yet. Memory use does not grow with their size, and a refused file
 * never reaches the storage.
 */
import { createHash, randomUUID } from 'node:crypto';
import { mkdir, open, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { unavailable } from '@fitness/shared/kernel/error.ts';
import { releaseMemory } from '@fitness/shared/kernel/release-memory.ts';
import type { StoredFile } from '../domain/media.ts';
import { asStorageKey, isStorageKey } from './storage.ts';

export interface Spool {
  receive(content: Readable): Promise<StoredFile>;
  open(key: string): Promise<Readable>;
  pathOf(key: string): string;
  discard(key: string): Promise<void>;
  listOlderThan(before: Date): AsyncIterable<string>;
}

/** Each replica has a separate spool. Its sweeper deletes what a crash left there. */
export const createSpool = async (directory: string): Promise<Spool> => {
  await mkdir(directory, { recursive: true });
  const pathOf = (key: string): string => join(directory, asStorageKey(key));
  const discard = (key: string): Promise<void> => rm(pathOf(key), { force: true });
  return {
    receive: async (content) => {
      const key = randomUUID();
      try {
        return { key, ...(await write(content, pathOf(key))) };
      } catch (error) {
        content.destroy();
        await discard(key);
        throw error;
      }
    },
    open: async (key) => (await onDisk(open(pathOf(key)))).createReadStream(),
    pathOf,
    discard,
    listOlderThan: (before) => listOlderThan(directory, before),
  };
};

/** Writes and hashes chunk by chunk. Flushes at the end, so a placed file is complete even after a power failure. */
const write = async (content: Readable, path: string): Promise<Omit<StoredFile, 'key'>> => {
  const hash = createHash('sha256');
  let size = 0;
  const file = await onDisk(open(path, 'wx', 0o600));
  try {
    for await (const chunk of content as AsyncIterable<Buffer>) {
      hash.update(chunk);
      await onDisk(file.writeFile(chunk));
      size += chunk.length;
      releaseMemory(chunk);
    }
    await onDisk(file.sync());
  } finally {
    await file.close();
  }
  return { size, sha256: hash.digest('hex') };
};

/** A disk failure leads to 503; a failure of the incoming stream does not. */
const onDisk = <T>(work: Promise<T>): Promise<T> =>
  work.catch((cause: unknown) => {
    throw unavailable('storage: spool', cause);
  });

/** Names of files in `directory` and below it that were last written before `before`. */
export async function* listOlderThan(directory: string, before: Date): AsyncIterable<string> {
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) yield* listOlderThan(path, before);
    else if (isStorageKey(entry.name) && (await isOlder(path, before))) yield entry.name;
  }
}

/** False for a file that was deleted meanwhile. */
const isOlder = async (path: string, before: Date): Promise<boolean> => {
  const stats = await stat(path).catch(() => undefined);
  return stats !== undefined && stats.mtime < before;
};
