import { MODEL } from '@fitness/contracts/model-names.ts';
import { oneStep, type Rest } from '@fitness/shared/mongo/steps.ts';
import { createDeleteMediaOfTarget } from './delete-media-of-target.ts';
import type { DeleteRowsDependencies } from './delete-rows.ts';

/**
 * Runs one step: deletes the few files of the account (MAX_PUBLIC_FILES), and its id from files that it uploaded to other targets.
 * It does not use the transaction of the event, which may not see a file that was attached just before the guard was closed.
 */
export const createEraseAccount = (dependencies: DeleteRowsDependencies) => {
  const { store } = dependencies;
  const deleteMediaOfTarget = createDeleteMediaOfTarget(dependencies);
  return async (userId: number): Promise<Rest> => {
    await deleteMediaOfTarget({ attachable_type: MODEL.user, attachable_id: userId });
    return oneStep((limit) => store.media.removeUploader(userId, limit));
  };
};
