/** Files on the local disk, in folders named by the first two characters of their keys. */
import { constants } from 'node:fs';
import { access, type FileHandle, type FileReadResult, mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { createFairQueue } from '@fitness/shared/kernel/fair-queue.ts';
import { flushDirectory } from '@fitness/shared/kernel/flush-directory.ts';
import { createSpool, listOlderThan } from './spool.ts';
import { asStorageKey, type Storage } from './storage.ts';

/** Maximum size of a read: each of a thousand slow clients keeps one such piece in memory. */
const PIECE_BYTES = 8 * 1024;
/** Number of Node's threads for file operations. With more reads, opening another file would wait behind all of them. */
const READS_AT_ONCE = 4;

export const createLocalStorage = async (directory: string): Promise<Storage> => {
  // The spool is on the same file system as the files, so placing a file is a rename.
  const spool = await createSpool(join(directory, 'arriving'));
  const files = join(directory, 'files');
  await mkdir(files, { recursive: true });
  const reads = createFairQueue({ maxRunning: READS_AT_ONCE });

  const pathOf = (key: string): string => join(files, asStorageKey(key).slice(0, 2), key);

  return {
    receive: (content) => spool.receive(content),
    openReceived: ({ key }) => spool.open(key),
    discard: ({ key }) => spool.discard(key),
    place: async ({ key }) => {
      const folder = dirname(pathOf(key));
      const made = await mkdir(folder, { recursive: true });
      await rename(spool.pathOf(key), pathOf(key));
      // The directory entry must survive a power failure too, because a row will name the file.
      await flushDirectory(folder);
      if (made !== undefined) await flushDirectory(files);
    },
    open: async (key, range) => {
      const file = await open(pathOf(key));
      const end = range === undefined ? Number.POSITIVE_INFINITY : range.end + 1;
      return streamOf(file, { from: range?.start ?? 0, end, inTurn: (read) => reads(key, read) });
    },
    delete: async (key) => {
      await spool.discard(key);
      await rm(pathOf(key), { force: true });
    },
    listOlderThan: async function* (before) {
      yield* spool.listOlderThan(before);
      yield* listOlderThan(files, before);
    },
    check: () => access(files, constants.W_OK),
    close: () => undefined,
  };
};

interface Part {
  from: number;
  /** The position after the last byte. */
  end: number;
  inTurn: (read: () => Promise<FileReadResult<Buffer>>) => Promise<FileReadResult<Buffer>>;
}

/** Reads a piece only after the previous one was consumed. A Node stream would always keep one more in memory. */
const streamOf = (file: FileHandle, { from, end, inTurn }: Part): Readable => {
  let at = from;
  const next = async (): Promise<Buffer | null> => {
    const length = Math.min(PIECE_BYTES, end - at);
    if (length <= 0) return null;
    const { bytesRead, buffer } = await inTurn(() =>
      file.read(Buffer.allocUnsafeSlow(length), 0, length, at),
    );
    at += bytesRead;
    return bytesRead === 0 ? null : buffer.subarray(0, bytesRead);
  };
  return new Readable({
    highWaterMark: 0,
    read() {
      next().then(
        (piece) => this.push(piece),
        (error) => this.destroy(error),
      );
    },
    // Closing waits for a read that is under way.
    destroy(error, done) {
      file.close().then(
        () => done(error),
        (failure) => done(error ?? failure),
      );
    },
  });
};
