import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import { oneStep, type Rest } from '@fitness/shared/mongo/steps.ts';
import type { Dependencies } from '../dependencies.ts';
import { GONE_PROFILE, userProfile } from '../domain/profile.ts';
import { createRecordRemoval } from './record-removal.ts';
import { createUpdateProfile } from './update-profile.ts';

/**
 * One step: hides the posts, which a job deletes, and deletes the training services. Lists leave out an erased seller's
 * training services when they are read, and a gone profile gets no new ones. Buyers keep what they bought.
 */
export const createEraseAccount = (dependencies: Pick<Dependencies, 'store' | 'outbox' | 'idempotency'>) => {
  const { store, idempotency } = dependencies;
  const updateProfile = createUpdateProfile(dependencies);
  const recordRemoval = createRecordRemoval(dependencies);
  return async (session: ClientSession, userId: number, version: number): Promise<Rest> => {
    const { ref } = userProfile(userId);
    if ((await updateProfile(session, { ref, state: GONE_PROFILE, version })) === 'more') return 'more';
    return oneStep(
      async (limit) => {
        const services = await store.trainingServices.findOfUser(session, userId, limit);
        const ids = services.map(({ id }) => id);
        // In separate steps, because each has up to 125 text documents.
        if ((await store.trainingServices.removeTexts(session, ids, limit)) > 0) return limit;
        await store.trainingServices.removeMany(session, ids);
        await recordRemoval(session, services);
        return services.length;
      },
      (limit) => idempotency.eraseAccount(session, userId, limit),
    );
  };
};
