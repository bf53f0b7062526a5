/** DELETE /gyms/{id}. Other services delete what belongs to the gym when they receive the event. */
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import type { Dependencies } from '../dependencies.ts';
import { findForChange } from './find-for-change.ts';
import { publishDeleted } from './publish.ts';
import { recordGymDeletion } from './record-gym-change.ts';

/** Throws 404 and 403. */
export const createDeleteGym =
  ({ store, outbox, audit }: Pick<Dependencies, 'store' | 'outbox' | 'audit'>) =>
  (id: number, caller: UserCaller): Promise<void> =>
    store.transaction(async (session) => {
      const gym = await findForChange(store.gyms, id, caller, session);
      await store.gyms.remove(session, gym);
      await store.ratings.removeOfGym(session, id);
      await publishDeleted(outbox, session, gym);
      await recordGymDeletion({ store, audit }, session, caller, gym);
    });
