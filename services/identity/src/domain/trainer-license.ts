/** State transitions of a trainer's license document and its review (specification 3.3, which follows 3.2). */
import type { User } from './user.ts';

type Named = Pick<User, 'first_name' | 'last_name'>;

type Review = Pick<User, 'trainer_license_approved' | 'trainer_license_rejection_reason'>;
type License = Review &
  Pick<User, 'trainer_license_image' | 'trainer_license_media_id' | 'trainer_license_newest_media_id'>;

export interface LicenseReview {
  approved?: boolean | null | undefined;
  reason?: string | null | undefined;
}

const PENDING_REVIEW: Review = { trainer_license_approved: null, trainer_license_rejection_reason: null };

const newestOf = (license: License): number =>
  Math.max(license.trainer_license_newest_media_id ?? 0, license.trainer_license_media_id ?? 0);

const withoutDocument = (current: License): License => ({
  ...PENDING_REVIEW,
  trainer_license_image: null,
  trainer_license_media_id: null,
  trainer_license_newest_media_id: newestOf(current),
});

/** Clears the document `mediaId` and its review. Empty if a newer document is attached. */
export const clearLicense = (current: License, mediaId: number | null): Partial<License> =>
  (current.trainer_license_media_id ?? 0) > (mediaId ?? 0) ? {} : withoutDocument(current);

/**
 * Attaches a document that media has stored, and resets the review. Undefined if this document or a newer one was seen
 * before: it is reported by a call and later by an event, and may have been reviewed, cleared or replaced in between.
 */
export const attachDocument = (
  current: License,
  document: { mediaId: number; filename: string },
): License | undefined => {
  if (document.mediaId <= newestOf(current)) return undefined;
  return {
    ...PENDING_REVIEW,
    trainer_license_image: document.filename,
    trainer_license_media_id: document.mediaId,
    trainer_license_newest_media_id: document.mediaId,
  };
};

/**
 * Detaches a document that media has deleted. A document that is deleted before it was attached is never attached.
 * Undefined when nothing changes.
 */
export const detachDocument = (current: License, mediaId: number): Partial<License> | undefined => {
  if (current.trainer_license_media_id === mediaId) return withoutDocument(current);
  return mediaId > newestOf(current) ? { trainer_license_newest_media_id: mediaId } : undefined;
};

/**
 * The changes of a review. A reason alone is stored whatever the state is; an empty one was not sent, and an approval and a
 * reset have none.
 */
export const reviewLicense = (
  current: Review,
  { approved, reason: sent }: LicenseReview,
): Partial<Review> => {
  const reason = sent === '' ? undefined : sent;
  if (approved === undefined) return reason === undefined ? {} : { trainer_license_rejection_reason: reason };
  const kept = reason === undefined ? current.trainer_license_rejection_reason : reason;
  return {
    trainer_license_approved: approved,
    trainer_license_rejection_reason: approved === false ? kept : null,
  };
};

const nameOf = ({ first_name: first, last_name: last }: Named): string => `${first} ${last}`;

/**
 * The name that the license of `current` was reviewed for, if `changes` leave the account with another one. A verdict is
 * given for the name of the same request.
 */
export const reviewedNameAfter = (current: User, changes: Partial<User>): string | null => {
  const { trainer_license_approved: verdict = current.trainer_license_approved } = changes;
  if (verdict === null || changes.trainer_license_approved !== undefined) return null;
  const reviewed = current.trainer_license_reviewed_name ?? nameOf(current);
  return reviewed === nameOf({ ...current, ...changes }) ? null : reviewed;
};

/** Whether an operator should look at the license: nobody has reviewed it, or the name has changed since. */
export const waitsForReview = (user: User): boolean =>
  (user.trainer_license_media_id !== null && user.trainer_license_approved === null) ||
  user.trainer_license_reviewed_name != null;
