import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../dependencies.ts';
import { GONE_PROFILE, userProfile } from '../domain/profile.ts';
import { createRecordRemoval } from './record-removal.ts';
import { createUpdateProfile } from './update-profile.ts';

/** Hides the posts, which a job deletes, and deletes the training services. What buyers bought stays with them. */
export const createEraseAccount = (dependencies: Pick<Dependencies, 'store' | 'outbox' | 'idempotency'>) => {
  const { store, idempotency } = dependencies;
  const updateProfile = createUpdateProfile(dependencies);
  const recordRemoval = createRecordRemoval(dependencies);
  return async (session: ClientSession, userId: number, version: number): Promise<void> => {
    await updateProfile(session, { ref: userProfile(userId).ref, state: GONE_PROFILE, version });
    await recordRemoval(session, await store.trainingServices.removeOfUser(session, userId));
    await idempotency.eraseAccount(session, userId);
  };
};
