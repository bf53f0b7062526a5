/**
 * Where uploads wait on the local disk until they are judged: memory stays small however many arrive at once, and
 * nothing that is refused ever reaches the place where files stay.
 */
import { createHash, randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
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
      const meter = createMeter();
      try {
        // Flushed: what is placed later is whole, whenever the machine stops.
        const file = createWriteStream(pathOf(key), { flags: 'wx', mode: 0o600, flush: true });
        await pipeline(content, meter.stream, file);
      } catch (error) {
        await discard(key);
        throw error;
      }
      return { key, size: meter.size(), sha256: meter.sha256() };
    },
    pathOf,
    discard,
    listOlderThan: (before) => listOlderThan(directory, before),
  };
};

const createMeter = (): { stream: Transform; size: () => number; sha256: () => string } => {
  const hash = createHash('sha256');
  let size = 0;
  const stream = new Transform({
    transform: (chunk: Buffer, _encoding, done) => {
      size += chunk.length;
      hash.update(chunk);
      done(null, chunk);
    },
  });
  return { stream, size: () => size, sha256: () => hash.digest('hex') };
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
