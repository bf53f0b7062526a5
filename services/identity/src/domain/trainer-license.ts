/** The review of a trainer's licence document (specification 3.3, after the gym's in 3.2). */
import type { User } from './user.ts';

type Licence = Pick<
  User,
  | 'trainer_license_image'
  | 'trainer_license_media_id'
  | 'trainer_license_approved'
  | 'trainer_license_rejection_reason'
>;

export const CLEARED_LICENCE: Licence = {
  trainer_license_image: null,
  trainer_license_media_id: null,
  trainer_license_approved: null,
  trainer_license_rejection_reason: null,
};

export interface LicenceReview {
  approved?: boolean | null | undefined;
  reason?: string | null | undefined;
}

/** What a review changes; a reason stands only beside a rejection. */
export const reviewLicence = (current: Licence, { approved, reason }: LicenceReview): Partial<Licence> => {
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
