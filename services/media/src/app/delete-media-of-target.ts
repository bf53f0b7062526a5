import type { Target } from '../domain/media.ts';
import { createDeleteRows, type DeleteRowsDependencies } from './delete-rows.ts';

/** Number of rows per transaction. */
const BATCH_SIZE = 50;

/** Deletes every file of a deleted target, including private documents. Repeatable, even after a crash. */
export const createDeleteMediaOfTarget = (dependencies: DeleteRowsDependencies) => {
  const { store } = dependencies;
  const deleteRows = createDeleteRows(dependencies);
  return async (target: Target): Promise<void> => {
    // Committed first: no file is attached afterwards, so the loop finds every row.
    await store.attachmentGuards.close(target);
    for (;;) {
      const deleted = await deleteRows((session) => store.media.deleteBatch(session, target, BATCH_SIZE));
      if (deleted.length === 0) return;
    }
  };
};
