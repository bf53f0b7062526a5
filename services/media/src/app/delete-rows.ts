import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../dependencies.ts';
import type { MediaRow } from '../domain/media.ts';
import { createDeleteFiles } from './delete-files.ts';
import { publishDeleted } from './publish.ts';

export type DeleteRowsDependencies = Pick<Dependencies, 'store' | 'outbox' | 'storage' | 'log'>;

/**
 * Deletes rows and publishes their events in one transaction, then deletes their files. `deleteFrom` deletes the rows in the store
 * and returns them. `byOperator` means that someone other than the owner deletes them.
 */
export const createDeleteRows = (dependencies: DeleteRowsDependencies) => {
  const { store, outbox } = dependencies;
  const deleteFiles = createDeleteFiles(dependencies);
  return async (
    deleteFrom: (session: ClientSession) => Promise<MediaRow[]>,
    byOperator = false,
  ): Promise<MediaRow[]> => {
    const rows = await store.transaction(async (session) => {
      const deleted = await deleteFrom(session);
      for (const row of deleted) await publishDeleted(outbox, session, row, byOperator);
      return deleted;
    });
    await deleteFiles(rows);
    return rows;
  };
};
