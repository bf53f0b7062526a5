/** PUT /gyms/{id} (specification 4.4, contract 4): a partial update that only touches what was sent. */
import { can, type UserCaller } from '@fitness/shared/caller.ts';
import { invalid, message } from '@fitness/shared/error.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import { type Gym, type GymDetails, mayUpdate } from '../domain/gym.ts';
import { type LicenseRequest, reviewLicense } from '../domain/license.ts';
import type { GymChanges } from '../store/gym-store.ts';
import { checkReferences } from './check-references.ts';
import { findForChange } from './find-for-change.ts';
import type { Parts } from './parts.ts';
import { tellChanged, tellLicenseCleared, tellReviewed } from './tell.ts';

export interface GymUpdate {
  /** Only the fields that were sent. */
  details: Partial<GymDetails>;
  license: LicenseRequest;
}

export type UpdateGym = (id: number, update: GymUpdate, caller: UserCaller) => Promise<Gym>;

const asksForReview = ({ license }: GymUpdate): boolean =>
  license.approved !== undefined || license.rejectionReason !== undefined;

/** A request that says nothing but what the review is. */
const isReviewOnly = (update: GymUpdate): boolean =>
  asksForReview(update) && !update.license.clearDocument && Object.keys(update.details).length === 0;

/** Each field asks for its own permission; a request is refused as a whole when one is missing. */
const mayMake =
  (update: GymUpdate) =>
  (gym: Gym, caller: UserCaller): boolean => {
    if (asksForReview(update) && !can(caller, 'gyms.approve_license')) return false;
    if (update.details.ownerId !== undefined && !can(caller, 'gyms.transfer_ownership')) return false;
    return isReviewOnly(update) || mayUpdate(gym, caller);
  };

/**
 * Throws 404, 403, and 422 for an unknown city, major or user; 503 when it cannot be known whether the user exists.
 * Whatever it throws, nothing has changed. Updates that run at once do not undo each other's fields, and what a
 * caller may do is decided on the gym as it is in the transaction: a gym that was just given away is no longer his.
 */
export const createUpdateGym = (parts: Parts): UpdateGym => {
  const apply = async (session: ClientSession, gym: Gym, update: GymUpdate) => {
    const { license, clearedMediaId, reviewed } = reviewLicense(gym.license, update.license);
    const touched = update.license.clearDocument || asksForReview(update);
    const changes: GymChanges = touched ? { ...update.details, license } : update.details;
    const changed = await parts.gyms.change(session, gym, changes, { now: parts.clock.now() });
    await tellChanged(parts.outbox, session, changed);
    if (reviewed !== null) await tellReviewed(parts.outbox, session, changed, reviewed);
    if (clearedMediaId !== null) await tellLicenseCleared(parts.outbox, session, changed, clearedMediaId);
    return { gym: changed, clearedMediaId };
  };

  return async (id, update, caller) => {
    const may = mayMake(update);
    await findForChange(parts.gyms, id, caller, undefined, may);
    await checkReferences(parts, update.details);
    const newOwnerId = update.details.ownerId ?? undefined;
    if (newOwnerId !== undefined) await parts.owners.prepare(newOwnerId);
    const write = async (session: ClientSession) => {
      const current = await findForChange(parts.gyms, id, caller, session, may);
      if (newOwnerId !== undefined && !(await parts.owners.pin(session, newOwnerId))) {
        throw invalid({ user_id: message('validation.unknown') });
      }
      return apply(session, current, update);
    };
    const { gym, clearedMediaId } = await parts.lanes.run(String(id), () => parts.transact(write));
    if (clearedMediaId !== null) await parts.documents.hurryDeletion(id, clearedMediaId);
    return gym;
  };
};
