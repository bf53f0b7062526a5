/** PUT /gyms/{id} (specification 4.4): changes only the fields of the request. */
import {
  changesLicense,
  type LicenseRequest,
  renameLicense,
  reviewLicense,
} from '@fitness/contracts/license.ts';
import { assertReviewedDocument } from '@fitness/contracts/license-review.ts';
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { invalid, message } from '@fitness/shared/kernel/error.ts';
import type { Permission } from '@fitness/shared/kernel/permissions.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../dependencies.ts';
import { type Gym, neededForUpdate } from '../domain/gym.ts';
import type { GymDetails } from '../domain/gym-fields.ts';
import { checkReferences } from './check-references.ts';
import { findForChange } from './find-for-change.ts';
import { publishChanged, publishLicenseCleared, publishLicenseReviewed } from './publish.ts';
import { recordGymChange } from './record-gym-change.ts';

export interface GymUpdate {
  /** Only the fields of the request. */
  details: Partial<GymDetails>;
  license: LicenseRequest;
  /** The license document that the request is about. Null means no document, and undefined means any. */
  reviewedMediaId?: number | null | undefined;
}

const requestsReview = ({ license }: GymUpdate): boolean =>
  license.approved !== undefined || license.rejectionReason !== undefined;

const isReviewOnly = (update: GymUpdate): boolean =>
  requestsReview(update) && !update.license.clearDocument && Object.keys(update.details).length === 0;

/** The required permissions, apart from those of single fields, which the route declares. */
const neededFor =
  (update: GymUpdate) =>
  (gym: Gym, caller: UserCaller): Permission[] =>
    isReviewOnly(update) ? [] : [neededForUpdate(gym, caller)];

/**
 * Throws 404, 403, and 422 for an unknown city, major or user. Throws 409 when the license document is not the one
 * that the request names, and 503 when identity does not respond. Nothing has changed then.
 *
 * Concurrent updates of different fields all survive. Permissions are checked again inside the transaction, so the previous owner
 * changes nothing after a transfer.
 */
export const createUpdateGym = (dependencies: Dependencies) => {
  const { store, outbox, clock, licenseDocuments, gymQueue } = dependencies;

  const apply = async (session: ClientSession, gym: Gym, update: GymUpdate, caller: UserCaller) => {
    assertReviewedDocument(gym.license.mediaId, update.reviewedMediaId);
    const { license: next, clearedMediaId, reviewed } = reviewLicense(gym.license, update.license);
    const { name = gym.name } = update.details;
    const isVerdict = update.license.approved !== undefined;
    const license = renameLicense(next, { from: gym.name, to: name, isVerdict });
    const isLicenseChanged = changesLicense(update.license) || name !== gym.name;
    // An update without any field changes nothing.
    if (!isLicenseChanged && Object.keys(update.details).length === 0) return { gym, clearedMediaId };
    const changes = isLicenseChanged ? { ...update.details, license } : update.details;
    const changed = await store.gyms.update(session, gym, changes, { now: clock.now() });
    await publishChanged(outbox, session, changed);
    const isReview = requestsReview(update);
    await recordGymChange(dependencies, session, caller, {
      before: gym,
      after: changed,
      isReview,
      isVerdict,
    });
    if (reviewed !== null) await publishLicenseReviewed(outbox, session, changed, reviewed);
    if (clearedMediaId !== null) await publishLicenseCleared(outbox, session, changed, clearedMediaId);
    return { gym: changed, clearedMediaId };
  };

  return async (id: number, update: GymUpdate, caller: UserCaller): Promise<Gym> => {
    const may = neededFor(update);
    await findForChange(store.gyms, id, caller, undefined, may);
    await checkReferences(dependencies, update.details);
    const newOwnerId = update.details.ownerId ?? undefined;
    if (newOwnerId !== undefined) await store.owners.ensureExists(newOwnerId);
    const write = async (session: ClientSession) => {
      const current = await findForChange(store.gyms, id, caller, session, may);
      if (newOwnerId !== undefined && !(await store.owners.lockUnlessErased(session, newOwnerId)))
        throw invalid({ user_id: message('validation.unknown') });
      return apply(session, current, update, caller);
    };
    const { gym, clearedMediaId } = await gymQueue.run(String(id), () => store.transaction(write));
    if (clearedMediaId !== null) await licenseDocuments.delete(id, clearedMediaId);
    return gym;
  };
};
