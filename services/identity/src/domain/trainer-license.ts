/** A trainer's licence document and its review (specification 3.3, after the gym's in 3.2): pure transitions. */
import type { User } from './user.ts';

type Review = Pick<User, 'trainer_license_approved' | 'trainer_license_rejection_reason'>;
type Licence = Review &
  Pick<User, 'trainer_license_image' | 'trainer_license_media_id' | 'trainer_license_newest_media_id'>;

export interface LicenceReview {
  approved?: boolean | null | undefined;
  reason?: string | null | undefined;
}

const OPEN_REVIEW: Review = { trainer_license_approved: null, trainer_license_rejection_reason: null };

const newestOf = (licence: Licence): number =>
  Math.max(licence.trainer_license_newest_media_id ?? 0, licence.trainer_license_media_id ?? 0);

const withoutDocument = (current: Licence): Licence => ({
  ...OPEN_REVIEW,
  trainer_license_image: null,
  trainer_license_media_id: null,
  trainer_license_newest_media_id: newestOf(current),
});

/** What clearing `mediaId` changes, with its review: nothing once a newer document is there. */
export const clearLicence = (current: Licence, mediaId: number | null): Partial<Licence> =>
  (current.trainer_license_media_id ?? 0) > (mediaId ?? 0) ? {} : withoutDocument(current);

/**
 * A document was stored at media. It becomes the licence and resets the review, unless the account already knows of it
 * or of a newer one: the upload tells of it at once and an event repeats it later, and in between it may have been
 * reviewed, cleared or replaced. Undefined then.
 */
export const attachDocument = (
  current: Licence,
  document: { mediaId: number; filename: string },
): Licence | undefined => {
  if (document.mediaId <= newestOf(current)) return undefined;
  return {
    ...OPEN_REVIEW,
    trainer_license_image: document.filename,
    trainer_license_media_id: document.mediaId,
    trainer_license_newest_media_id: document.mediaId,
  };
};

/**
 * A document was deleted at media. Another one stays as it is; but what is deleted before the account has heard of it
 * never becomes its licence. Undefined when nothing changes.
 */
export const forgetDocument = (current: Licence, mediaId: number): Partial<Licence> | undefined => {
  if (current.trainer_license_media_id === mediaId) return withoutDocument(current);
  return mediaId > newestOf(current) ? { trainer_license_newest_media_id: mediaId } : undefined;
};

/** What a review changes; a reason stands only beside a rejection. */
export const reviewLicence = (current: Review, { approved, reason }: LicenceReview): Partial<Review> => {
  if (approved === undefined && reason === undefined) return {};
  const verdict = approved === undefined ? current.trainer_license_approved : approved;
  if (verdict !== false) {
    return { trainer_license_approved: verdict, trainer_license_rejection_reason: null };
  }
  return {
    trainer_license_approved: false,
    trainer_license_rejection_reason:
      reason === undefined ? current.trainer_license_rejection_reason : reason,
  };
};
