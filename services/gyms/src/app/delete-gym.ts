/**
 * DELETE /gyms/{id}. On the event, other services delete what belongs to the gym, and this service deletes the remaining ratings.
 * Nobody reads them without the gym.
 */
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import { oneStep, type Rest } from '@fitness/shared/mongo/steps.ts';
import type { Dependencies } from '../dependencies.ts';
import { findForChange } from './find-for-change.ts';
import { publishDeleted } from './publish.ts';
import { recordGymDeletion } from './record-gym-change.ts';

/** Throws 404 and 403. */
export const createDeleteGym = ({
  store,
  outbox,
  audit,
}: Pick<Dependencies, 'store' | 'outbox' | 'audit'>) => {
  const deleteRatings = createDeleteRatings({ store });
  return (id: number, caller: UserCaller): Promise<void> =>
    store.transaction(async (session) => {
      const gym = await findForChange(store.gyms, id, caller, session);
      await store.gyms.remove(session, gym);
      await deleteRatings(session, id);
      await publishDeleted(outbox, session, gym);
      await recordGymDeletion({ store, audit }, session, caller, gym);
    });
};

/** Runs one step. A deleted gym gets no new ratings, because a rating writes the document of the gym. */
export const createDeleteRatings =
  ({ store }: Pick<Dependencies, 'store'>) =>
  (session: ClientSession, gymId: number): Promise<Rest> =>
    oneStep((limit) => store.ratings.removeOfGym(session, gymId, limit));
