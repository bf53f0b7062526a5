import { open } from 'node:fs/promises';

/** Flushes a directory to disk: the names of new files must survive a power failure, as their contents do. */
export const flushDirectory = async (path: string): Promise<void> => {
  const folder = await open(path);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
};
