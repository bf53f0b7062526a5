import type { Dependencies } from '../dependencies.ts';
import type { MediaRow } from '../domain/media.ts';

/** A row, or an upload that got none. */
type Owner = Pick<MediaRow, 'storage_key' | 'variants'> & Partial<Pick<MediaRow, '_id'>>;

/**
 * Deletes the files of rows whose deletion is committed, including their smaller images. Never rejects, because the sweeper deletes
 * files that remain after a crash or a storage failure.
 */
export const createDeleteFiles =
  ({ storage, log }: Pick<Dependencies, 'storage' | 'log'>) =>
  async (rows: readonly Owner[]): Promise<void> => {
    const files = rows.flatMap((row) =>
      [row, ...(row.variants ?? [])].map((file) => [row._id, file] as const),
    );
    for (const [id, { storage_key: key }] of files) {
      try {
        await storage.delete(key);
      } catch (error) {
        log.warn({ err: error, media_id: id }, 'a file without a row is left to the sweeper');
      }
    }
  };
