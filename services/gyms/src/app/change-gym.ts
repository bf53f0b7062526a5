/** What PUT /gyms/{id} changes, with its events and audit entries (specification 4.4). */
import {
  changesLicense,
  type LicenseRequest,
  renameLicense,
  requestsReview,
  reviewLicense,
} from '@fitness/contracts/license.ts';
import { assertReviewedDocument } from '@fitness/contracts/license-review.ts';
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Gym } from '../domain/gym.ts';
import type { GymDetails } from '../domain/gym-fields.ts';
import { publishChanged, publishLicenseCleared, publishLicenseReviewed } from './publish.ts';
import { recordGymChange } from './record-gym-change.ts';

export interface GymChange {
  /** Only the fields of the request. */
  details: Partial<GymDetails>;
  license: LicenseRequest;
  /** The license document that the request is about. Null means no document, and undefined means any. */
  reviewedMediaId?: number | null | undefined;
}

/** One write, one version and one event, whatever the request changes. Throws 409 when the license document is another one. */
export const changeGym = async (
  dependencies: Pick<Dependencies, 'store' | 'outbox' | 'clock' | 'audit'>,
  session: ClientSession,
  caller: UserCaller,
  gym: Gym,
  { details, license: request, reviewedMediaId }: GymChange,
): Promise<{ gym: Gym; clearedMediaId: number | null }> => {
  const { store, outbox, clock } = dependencies;
  assertReviewedDocument(gym.license.mediaId, reviewedMediaId);
  const { license: next, clearedMediaId, reviewed } = reviewLicense(gym.license, request);
  const { name = gym.name } = details;
  const isVerdict = request.approved !== undefined;
  const license = renameLicense(next, { from: gym.name, to: name, isVerdict });
  const isLicenseChanged = changesLicense(request) || name !== gym.name;
  // A request without any field changes nothing.
  if (!isLicenseChanged && Object.keys(details).length === 0) return { gym, clearedMediaId };
  const changes = isLicenseChanged ? { ...details, license } : details;
  const changed = await store.gyms.update(session, gym, changes, { now: clock.now() });
  await publishChanged(outbox, session, changed);
  const isReview = requestsReview(request);
  await recordGymChange(dependencies, session, caller, { before: gym, after: changed, isReview, isVerdict });
  if (reviewed !== null) await publishLicenseReviewed(outbox, session, changed, reviewed);
  if (clearedMediaId !== null) await publishLicenseCleared(outbox, session, changed, clearedMediaId);
  return { gym: changed, clearedMediaId };
};
