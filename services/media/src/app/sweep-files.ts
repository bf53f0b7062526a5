/** Deletes files that no row knows: what a crash between the file and its row, or the row and its file, has left. */
import { type Clock, HOUR_MS } from '@fitness/shared/clock.ts';
import type { Logger } from '@fitness/shared/log.ts';
import type { Storage } from '../clients/storage.ts';
import type { MediaStore } from '../store/media.ts';

/** Longer than any upload takes: a younger file may be about to get its row. */
const MIN_AGE_MS = HOUR_MS;

export interface SweepParts {
  media: MediaStore;
  storage: Storage;
  clock: Clock;
  log: Logger;
}

export const sweepFiles = async ({ media, storage, clock, log }: SweepParts): Promise<number> => {
  let swept = 0;
  for await (const key of storage.listOlderThan(new Date(clock.now().getTime() - MIN_AGE_MS))) {
    if (await media.hasStorageKey(key)) continue;
    await storage.delete(key);
    swept += 1;
  }
  if (swept > 0) log.info({ swept }, 'files without a row were deleted');
  return swept;
};
