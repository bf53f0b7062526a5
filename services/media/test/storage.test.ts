import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createLocalStorage } from '../src/clients/local-storage.ts';
import { inDirectory, testStorage } from './storage-cases.ts';

testStorage('the local disk', () =>
  inDirectory(async (directory) => ({
    storage: await createLocalStorage(directory),
    putForeign: async (name) => {
      await mkdir(join(directory, 'files', 'xx'), { recursive: true });
      await writeFile(join(directory, 'files', 'xx', name), 'not ours');
    },
    close: async () => undefined,
  })),
);
