import type { Target } from '../domain/media.ts';
import { createDeleteRows, type DeleteRowsDependencies } from './delete-rows.ts';

/** Deletes the document of a purpose, unless its id is larger than `upTo`. Returns false if there was nothing to delete. */
export const createDeleteMediaByPurpose = (dependencies: DeleteRowsDependencies) => {
  const { store } = dependencies;
  const deleteRows = createDeleteRows(dependencies);
  return async (target: Target, purpose: string, upTo?: number): Promise<boolean> => {
    const deleted = await deleteRows((session) =>
      store.media.deleteByPurpose(session, target, purpose, upTo),
    );
    return deleted.length > 0;
  };
};
