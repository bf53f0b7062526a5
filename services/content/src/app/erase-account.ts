import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import { oneStep, type Rest } from '@fitness/shared/mongo/steps.ts';
import type { Dependencies } from '../dependencies.ts';
import { GONE_PROFILE, userProfile } from '../domain/profile.ts';
import { createRecordRemoval } from './record-removal.ts';
import { createUpdateProfile } from './update-profile.ts';

/** Of one step: each has some twenty documents of grams, and an event. */
const SERVICES_MAX = 40;

/**
 * One step: hides the posts, which a job deletes, and deletes the training services. Lists leave out those of an erased
 * seller at reading time, and a gone profile gets no new one. What buyers bought stays with them.
 */
export const createEraseAccount = (dependencies: Pick<Dependencies, 'store' | 'outbox' | 'idempotency'>) => {
  const { store, idempotency } = dependencies;
  const updateProfile = createUpdateProfile(dependencies);
  const recordRemoval = createRecordRemoval(dependencies);
  return async (session: ClientSession, userId: number, version: number): Promise<Rest> => {
    await updateProfile(session, { ref: userProfile(userId).ref, state: GONE_PROFILE, version });
    return oneStep(
      async (limit) => {
        const some = Math.min(limit, SERVICES_MAX);
        const removed = await store.trainingServices.removeOfUser(session, userId, some);
        await recordRemoval(session, removed);
        return removed.length < some ? removed.length : limit;
      },
      (limit) => idempotency.eraseAccount(session, userId, limit),
    );
  };
};
