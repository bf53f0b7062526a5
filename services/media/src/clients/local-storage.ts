/** Files on the local disk, in folders by the first characters of their key. */
import { createHash, randomUUID } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Storage } from './storage.ts';

const KEY = /^[0-9a-f-]{36}$/;

export const createLocalStorage = async (directory: string): Promise<Storage> => {
  const arriving = join(directory, 'arriving');
  const files = join(directory, 'files');
  await mkdir(arriving, { recursive: true });
  await mkdir(files, { recursive: true });

  const pathOf = (key: string): string => {
    if (!KEY.test(key)) throw new Error('not a storage key');
    return join(files, key.slice(0, 2), key);
  };

  return {
    put: async (content) => {
      const key = randomUUID();
      const temporary = join(arriving, key);
      const meter = createMeter();
      try {
        // Flushed before it gets its name: after a crash a name never stands for half a file.
        await pipeline(
          content,
          meter.stream,
          createWriteStream(temporary, { flags: 'wx', mode: 0o600, flush: true }),
        );
        const path = pathOf(key);
        await mkdir(dirname(path), { recursive: true });
        await rename(temporary, path);
      } catch (error) {
        await rm(temporary, { force: true });
        throw error;
      }
      return { key, size: meter.size(), sha256: meter.sha256() };
    },
    open: async (key, range) => {
      const path = pathOf(key);
      await stat(path);
      return createReadStream(path, range === undefined ? {} : { start: range.start, end: range.end });
    },
    delete: (key) => rm(pathOf(key), { force: true }),
    listOlderThan: (before) => listOlderThan([arriving, files], before),
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

async function* listOlderThan(directories: string[], before: Date): AsyncIterable<string> {
  for (const directory of directories) {
    for (const entry of await readdir(directory, { withFileTypes: true })) {
      const path = join(directory, entry.name);
      if (entry.isDirectory()) yield* listOlderThan([path], before);
      else if (KEY.test(entry.name) && (await stat(path)).mtime < before) yield entry.name;
    }
  }
}

export type { Readable };
