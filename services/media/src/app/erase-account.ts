import { MODEL } from '@fitness/contracts/model-names.ts';
import { oneStep, type Rest } from '@fitness/shared/mongo/steps.ts';
import { createDeleteMediaOfTarget } from './delete-media-of-target.ts';
import type { DeleteRowsDependencies } from './delete-rows.ts';

/**
 * One step: deletes the files of the account, which are few (MAX_PUBLIC_FILES), and its id from files that it uploaded to
 * other targets. Not in the transaction of the event: it may not see a file that was attached just before the guard was closed.
 */
export const createEraseAccount = (dependencies: DeleteRowsDependencies) => {
  const { store } = dependencies;
  const deleteMediaOfTarget = createDeleteMediaOfTarget(dependencies);
  return async (userId: number): Promise<Rest> => {
    await deleteMediaOfTarget({ attachable_type: MODEL.user, attachable_id: userId });
    return oneStep((limit) => store.media.removeUploader(userId, limit));
  };
};
