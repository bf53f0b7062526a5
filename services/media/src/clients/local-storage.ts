/** Files on the local disk, in folders named by the first two characters of their keys. */
import { constants } from 'node:fs';
import { access, mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createSpool, listOlderThan } from './spool.ts';
import { asStorageKey, type Storage } from './storage.ts';

/** Of a download whose client does not read: a quarter of Node's default, for hundreds of slow clients at once. */
const READ_AHEAD_BYTES = 16 * 1024;

export const createLocalStorage = async (directory: string): Promise<Storage> => {
  // On the same file system as the files: placing a file is a rename.
  const spool = await createSpool(join(directory, 'arriving'));
  const files = join(directory, 'files');
  await mkdir(files, { recursive: true });

  const pathOf = (key: string): string => join(files, asStorageKey(key).slice(0, 2), key);

  return {
    receive: (content) => spool.receive(content),
    openReceived: ({ key }) => spool.open(key),
    discard: ({ key }) => spool.discard(key),
    place: async ({ key }) => {
      const folder = dirname(pathOf(key));
      const made = await mkdir(folder, { recursive: true });
      await rename(spool.pathOf(key), pathOf(key));
      // The directory entry must survive a power failure too: a row will name the file.
      await flushDirectory(folder);
      if (made !== undefined) await flushDirectory(files);
    },
    open: async (key, range) => {
      const file = await open(pathOf(key));
      const part = range === undefined ? {} : { start: range.start, end: range.end };
      return file.createReadStream({ ...part, highWaterMark: READ_AHEAD_BYTES });
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

const flushDirectory = async (path: string): Promise<void> => {
  const folder = await open(path);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
};
