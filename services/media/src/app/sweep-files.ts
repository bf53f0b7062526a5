import { HOUR_MS } from '@fitness/shared/kernel/clock.ts';
import type { Dependencies } from '../dependencies.ts';

/** Longer than an upload may take: a younger file may still get its row. */
const MIN_AGE_MS = HOUR_MS;
/** Number of keys per database query. */
const BATCH_SIZE = 500;

/**
 * Deletes files without a row, which a crash between the writes of a file and its row leaves behind. Returns their number.
 */
export const createSweepFiles =
  ({ store, storage, realTime, log }: Pick<Dependencies, 'store' | 'storage' | 'realTime' | 'log'>) =>
  async (): Promise<number> => {
    let swept = 0;
    const sweep = async (keys: readonly string[]): Promise<void> => {
      const inUse = await store.media.knownStorageKeys(keys);
      for (const key of keys.filter((candidate) => !inUse.has(candidate))) {
        await storage.delete(key);
        swept += 1;
      }
    };
    let batch: string[] = [];
    for await (const key of storage.listOlderThan(new Date(realTime.now().getTime() - MIN_AGE_MS))) {
      batch.push(key);
      if (batch.length < BATCH_SIZE) continue;
      await sweep(batch);
      batch = [];
    }
    await sweep(batch);
    if (swept > 0) log.info({ swept }, 'files without a row were deleted');
    return swept;
  };
