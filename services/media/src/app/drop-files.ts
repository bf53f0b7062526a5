/** Deletes files whose rows are gone, behind the commit: what a crash or the storage keeps, the sweeper finds later. */
import type { Logger } from '@fitness/shared/log.ts';
import type { Storage } from '../clients/storage.ts';
import type { MediaRow } from '../domain/media.ts';

/** Never rejects: the rows are gone whether or not their files are yet. */
export type DropFiles = (rows: readonly MediaRow[]) => Promise<void>;

export const createDropFiles =
  (storage: Storage, log: Logger): DropFiles =>
  async (rows) => {
    for (const { _id, storage_key: key } of rows) {
      try {
        await storage.delete(key);
      } catch (error) {
        log.warn({ err: error, media_id: _id }, 'a file without a row is left to the sweeper');
      }
    }
  };
