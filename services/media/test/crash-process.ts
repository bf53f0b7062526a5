/** The service in a process that kills itself at the step of `dieAt(step)`. */
import { Readable } from 'node:stream';
import { runProcess } from '@fitness/shared/runtime/lifecycle.ts';
import { answer } from '@fitness/shared/testing/crash-process.ts';
import { openStorage } from '../src/clients/open-storage.ts';
import type { Storage } from '../src/clients/storage.ts';
import { readConfig } from '../src/config.ts';
import { startMedia } from '../src/service.ts';

export type Step = 'receiving' | 'before placing' | 'after placing' | 'before deleting';

let lastStep: Step | undefined;
answer({
  dieAt: (step: Step) => {
    lastStep = step;
  },
});

const reach = async (step: Step): Promise<void> => {
  if (step !== lastStep) return;
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

const crashingStorage = (storage: Storage): Storage => ({
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
  return startMedia(config, { storage: crashingStorage(await openStorage(config)) });
});
