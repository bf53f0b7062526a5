/** A trainer's license, stored in the fields of an account (specification 3.3; its transitions follow 3.2). */
import type { License } from '@fitness/contracts/license.ts';
import type { User } from './user.ts';

const FIELDS = {
  image: 'trainer_license_image',
  mediaId: 'trainer_license_media_id',
  approved: 'trainer_license_approved',
  rejectionReason: 'trainer_license_rejection_reason',
  reviewedName: 'trainer_license_reviewed_name',
  newestMediaId: 'trainer_license_newest_media_id',
} as const satisfies Record<keyof License, keyof User>;

type LicenseFields = Pick<User, (typeof FIELDS)[keyof License]>;

/** An older release did not store the newest document. */
export const licenseOf = (user: LicenseFields): License => ({
  image: user.trainer_license_image,
  mediaId: user.trainer_license_media_id,
  approved: user.trainer_license_approved,
  rejectionReason: user.trainer_license_rejection_reason,
  reviewedName: user.trainer_license_reviewed_name,
  newestMediaId: Math.max(user.trainer_license_newest_media_id ?? 0, user.trainer_license_media_id ?? 0),
});

/** The fields of `user` that change with the license `next`. */
export const licenseChanges = (user: LicenseFields, next: License): Partial<LicenseFields> => {
  const before = licenseOf(user);
  const fields = (Object.keys(FIELDS) as (keyof License)[]).filter((field) => next[field] !== before[field]);
  return Object.fromEntries(fields.map((field) => [FIELDS[field], next[field]]));
};

type Named = Pick<User, 'first_name' | 'last_name'>;

/** The name that a license is reviewed for. */
export const nameOf = ({ first_name: first, last_name: last }: Named): string => `${first} ${last}`;
