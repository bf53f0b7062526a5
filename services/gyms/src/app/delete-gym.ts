/** DELETE /gyms/{id}: by whoever may update it. Others clear what hangs on it when they hear of it. */
import type { UserCaller } from '@fitness/shared/caller.ts';
import { findForChange } from './find-for-change.ts';
import type { Parts } from './parts.ts';
import { tellDeleted } from './tell.ts';

export type DeleteGym = (id: number, caller: UserCaller) => Promise<void>;

/** Throws 404 and 403. */
export const createDeleteGym =
  ({ gyms, ratings, outbox, transact }: Parts): DeleteGym =>
  (id, caller) =>
    transact(async (session) => {
      const gym = await findForChange(gyms, id, caller, session);
      await gyms.remove(session, gym);
      await ratings.removeOfGym(session, id);
      await tellDeleted(outbox, session, gym);
    });
