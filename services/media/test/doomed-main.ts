/** The service as it is, but for its end: it kills itself at the step that DIE_AT names. */
import { Readable } from 'node:stream';
import { runProcess } from '@fitness/shared/lifecycle.ts';
import { openStorage } from '../src/clients/open-storage.ts';
import type { Storage } from '../src/clients/storage.ts';
import { readConfig } from '../src/config.ts';
import { startMedia } from '../src/service.ts';

export type Step = 'receiving' | 'before placing' | 'after placing' | 'before deleting';

const reach = async (step: Step): Promise<void> => {
  if (process.env.DIE_AT !== step) return;
  process.kill(process.pid, 'SIGKILL');
  await new Promise(() => {});
};

async function* piecesOf(content: Readable): AsyncIterable<Buffer> {
  let pieces = 0;
  for await (const piece of content) {
    yield piece;
    pieces += 1;
    if (pieces === 3) await reach('receiving');
  }
}

const doomed = (storage: Storage): Storage => ({
  ...storage,
  receive: (content) => storage.receive(Readable.from(piecesOf(content), { objectMode: false })),
  place: async (file) => {
    await reach('before placing');
    await storage.place(file);
    await reach('after placing');
  },
  delete: async (key) => {
    await reach('before deleting');
    await storage.delete(key);
  },
});

await runProcess(async () => {
  const config = readConfig();
  return startMedia(config, { storage: doomed(await openStorage(config)) });
});
