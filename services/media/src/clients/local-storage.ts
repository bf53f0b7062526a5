/** Files on the local disk, in folders by the first characters of their key. */
import { constants } from 'node:fs';
import { access, mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createSpool, listOlderThan } from './spool.ts';
import { asStorageKey, type Storage } from './storage.ts';

export const createLocalStorage = async (directory: string): Promise<Storage> => {
  // On one file system, so that placing a file is a rename.
  const spool = await createSpool(join(directory, 'arriving'));
  const files = join(directory, 'files');
  await mkdir(files, { recursive: true });

  const pathOf = (key: string): string => join(files, asStorageKey(key).slice(0, 2), key);

  return {
    receive: (content) => spool.receive(content),
    discard: ({ key }) => spool.discard(key),
    place: async ({ key }) => {
      const folder = dirname(pathOf(key));
      const made = await mkdir(folder, { recursive: true });
      await rename(spool.pathOf(key), pathOf(key));
      // A row will say that the file is here: its name must outlive a power cut as its bytes do.
      await flushFolder(folder);
      if (made !== undefined) await flushFolder(files);
    },
    open: async (key, range) => {
      const file = await open(pathOf(key));
      return file.createReadStream(range === undefined ? {} : { start: range.start, end: range.end });
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

const flushFolder = async (path: string): Promise<void> => {
  const folder = await open(path);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
};
