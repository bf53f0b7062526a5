import { MODEL } from '@fitness/contracts/model-names.ts';
import { createDeleteMediaOfTarget } from './delete-media-of-target.ts';
import type { DeleteRowsDependencies } from './delete-rows.ts';

/** Deletes the files of the account, and its id from files that it uploaded to other targets. */
export const createEraseAccount = (dependencies: DeleteRowsDependencies) => {
  const { store } = dependencies;
  const deleteMediaOfTarget = createDeleteMediaOfTarget(dependencies);
  return async (userId: number): Promise<void> => {
    await deleteMediaOfTarget({ attachable_type: MODEL.user, attachable_id: userId });
    await store.media.removeUploader(userId);
  };
};
