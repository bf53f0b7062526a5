/**
 * Where uploads wait on the local disk until they are judged: memory stays small however many arrive at once, and
 * nothing that is refused ever reaches the place where files stay.
 */
import { createHash, randomUUID } from 'node:crypto';
import { mkdir, open, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { unavailable } from '@fitness/shared/error.ts';
import type { StoredFile } from '../domain/media.ts';
import { asStorageKey, isStorageKey } from './storage.ts';

export interface Spool {
  receive(content: Readable): Promise<StoredFile>;
  pathOf(key: string): string;
  discard(key: string): Promise<void>;
  listOlderThan(before: Date): AsyncIterable<string>;
}

/** A replica has a spool of its own; what it left behind in a crash is found by its own sweeper. */
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
    pathOf,
    discard,
    listOlderThan: (before) => listOlderThan(directory, before),
  };
};

/** Writes and hashes piece by piece; flushed at the end, so that what is placed later is whole whenever power fails. */
const write = async (content: Readable, path: string): Promise<Omit<StoredFile, 'key'>> => {
  const hash = createHash('sha256');
  let size = 0;
  const file = await onDisk(open(path, 'wx', 0o600));
  try {
    for await (const piece of content as AsyncIterable<Buffer>) {
      hash.update(piece);
      await onDisk(file.writeFile(piece));
      size += piece.length;
      giveBack(piece);
    }
    await onDisk(file.sync());
  } finally {
    await file.close();
  }
  return { size, sha256: hash.digest('hex') };
};

/** What the disk refuses is told apart from content that breaks off. */
const onDisk = <T>(work: Promise<T>): Promise<T> =>
  work.catch((cause: unknown) => {
    throw unavailable('storage: the spool', cause);
  });

/**
 * Frees the memory of a piece at once. A piece is a small object with 64 KiB behind it that the garbage collector does
 * not see: it would let tens of mebibytes of them pile up. Only where the piece is all that there is in its memory, so
 * that nobody else can hold a part of it.
 */
const giveBack = ({ buffer, byteLength }: Buffer): void => {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
};

/** Files in `directory` and the folders below it that were last written before `before`. */
export async function* listOlderThan(directory: string, before: Date): AsyncIterable<string> {
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) yield* listOlderThan(path, before);
    else if (isStorageKey(entry.name) && (await isOlder(path, before))) yield entry.name;
  }
}

/** Not, when it was deleted meanwhile. */
const isOlder = async (path: string, before: Date): Promise<boolean> => {
  const found = await stat(path).catch(() => undefined);
  return found !== undefined && found.mtime < before;
};
