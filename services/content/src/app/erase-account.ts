import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../dependencies.ts';
import { GONE_PROFILE, userProfile } from '../domain/profile.ts';
import { createRemoveTrainingService } from './remove-training-service.ts';
import { createUpdateProfile } from './update-profile.ts';

/** Hides the posts, which a job deletes, and deletes the training services. What buyers bought stays with them. */
export const createEraseAccount = (dependencies: Pick<Dependencies, 'store' | 'outbox' | 'idempotency'>) => {
  const { store, idempotency } = dependencies;
  const updateProfile = createUpdateProfile(dependencies);
  const removeTrainingService = createRemoveTrainingService(dependencies);
  return async (session: ClientSession, userId: number, version: number): Promise<void> => {
    await updateProfile(session, { ref: userProfile(userId).ref, state: GONE_PROFILE, version });
    for (const id of await store.trainingServices.idsOfUser(session, userId))
      await removeTrainingService(session, id);
    await idempotency.eraseAccount(session, userId);
  };
};
