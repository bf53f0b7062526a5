/** The account. A user that this module speaks of is alive: an erased one is a tombstone and has no such fields. */
import type { UserResource } from '@fitness/shared/resources/user.ts';

export type Gender = NonNullable<UserResource['gender']>;

/** The id of no account: ids begin with 1. */
export const NOBODY = 0;

export interface User {
  _id: number;
  username: string;
  email: string;
  /** E.164. */
  phone: string;
  /** PHC string of argon2id. */
  password_hash: string;
  first_name: string;
  last_name: string;
  created_at: Date;
  referral_code: string;
  referrer_user_id: number | null;
  /** Centimetres. */
  height: number | null;
  /** `YYYY-MM-DD`. */
  birth_date: string | null;
  gender: Gender | null;
  bank_account_number: string | null;
  /** Self-identification; authorizes nothing. */
  is_trainer: boolean;
  /** Self-identification; authorizes nothing. */
  is_gym_owner: boolean;
  /** The file name of the licence document. */
  trainer_license_image: string | null;
  trainer_license_media_id: number | null;
  /** The newest document heard of, be it gone by now: an older one that is told of late never comes back. */
  trainer_license_newest_media_id: number | null;
  /** null: pending review. */
  trainer_license_approved: boolean | null;
  trainer_license_rejection_reason: string | null;
  role_ids: number[];
  /** Both set while a deletion is pending, else both null. */
  deletion_requested_at: Date | null;
  deletion_scheduled_at: Date | null;
  /** Grows with every change of the account: the aggregate version of its events. */
  version: number;
  /** Grows whenever all credentials die at once. */
  credential_epoch: number;
}

export const isPendingDeletion = (user: User): boolean => user.deletion_scheduled_at !== null;
