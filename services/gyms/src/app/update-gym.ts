/** PUT /gyms/{id} (specification 4.4): changes only the fields of the request, which may include those of a review. */
import { requestsReview } from '@fitness/contracts/license.ts';
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { invalid, message } from '@fitness/shared/kernel/error.ts';
import type { Permission } from '@fitness/shared/kernel/permissions.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../dependencies.ts';
import { type Gym, neededForUpdate } from '../domain/gym.ts';
import { changeGym, type GymChange } from './change-gym.ts';
import { checkReferences } from './check-references.ts';
import { findForChange } from './find-for-change.ts';

/**
 * What the caller needs besides the permissions of single fields, which the route has checked. A request with nothing but such
 * fields needs nothing else.
 */
const neededFor =
  ({ details: { ownerId, ...others }, license }: GymChange, caller: UserCaller) =>
  (gym: Gym): Permission[] => {
    const isTransferOrReview = ownerId !== undefined || requestsReview(license);
    const isMore = license.clearDocument || Object.keys(others).length > 0;
    return isTransferOrReview && !isMore ? [] : [neededForUpdate(gym, caller)];
  };

/**
 * Throws 404, 403, and 422 for an unknown city, major or user. Throws 409 when the license document is not the one
 * that the request names, and 503 when identity does not respond. Nothing has changed then.
 *
 * Concurrent updates of different fields all survive. Permissions are checked again inside the transaction, so the previous owner
 * changes nothing after a transfer.
 */
export const createUpdateGym =
  (dependencies: Dependencies) =>
  async (id: number, update: GymChange, caller: UserCaller): Promise<Gym> => {
    const { store, licenseDocuments, gymQueue } = dependencies;
    const needs = neededFor(update, caller);
    if (Object.keys(update.details).length > 0) {
      // A caller who may not change the gym learns nothing about cities, majors and users.
      await findForChange(store.gyms, id, caller, undefined, needs);
      await checkReferences(dependencies, update.details);
    }
    const newOwnerId = update.details.ownerId ?? undefined;
    if (newOwnerId !== undefined) await store.owners.ensureExists(newOwnerId);
    const write = async (session: ClientSession) => {
      const current = await findForChange(store.gyms, id, caller, session, needs);
      if (newOwnerId !== undefined && !(await store.owners.lockUnlessErased(session, newOwnerId)))
        throw invalid({ user_id: message('validation.unknown') });
      return changeGym(dependencies, session, caller, current, update);
    };
    const { gym, clearedMediaId } = await gymQueue.run(String(id), () => store.transaction(write));
    if (clearedMediaId !== null) await licenseDocuments.delete(id, clearedMediaId);
    return gym;
  };
