/** Deletes files that no row knows: what a crash between a file and its row, or a row and its file, has left. */
import { type Clock, HOUR_MS } from '@fitness/shared/clock.ts';
import type { Logger } from '@fitness/shared/log.ts';
import type { Storage } from '../clients/storage.ts';
import type { MediaStore } from '../store/media.ts';

/**
 * Far longer than an upload may take to arrive, and a placed file waits for the commit of its row: a younger one may be
 * about to get its row.
 */
const MIN_AGE_MS = HOUR_MS;
/** Keys that one question to the database names. */
const KEYS_AT_ONCE = 500;

export interface SweepParts {
  media: MediaStore;
  storage: Storage;
  clock: Clock;
  log: Logger;
}

export const sweepFiles = async ({ media, storage, clock, log }: SweepParts): Promise<number> => {
  let swept = 0;
  const sweep = async (keys: readonly string[]): Promise<void> => {
    const known = await media.knownStorageKeys(keys);
    for (const key of keys.filter((candidate) => !known.has(candidate))) {
      await storage.delete(key);
      swept += 1;
    }
  };
  let batch: string[] = [];
  for await (const key of storage.listOlderThan(new Date(clock.now().getTime() - MIN_AGE_MS))) {
    batch.push(key);
    if (batch.length < KEYS_AT_ONCE) continue;
    await sweep(batch);
    batch = [];
  }
  await sweep(batch);
  if (swept > 0) log.info({ swept }, 'files without a row were deleted');
  return swept;
};
