/** A live account. An erased account is a tombstone without these fields. */
import type { MediaCopy } from '@fitness/contracts/media-copy.ts';
import type { StoredSubscription } from '@fitness/contracts/subscription.ts';
import type { WholeUser } from '@fitness/contracts/user.ts';

/** No account has this id: ids begin with 1. */
export const NO_USER_ID = 0;

/** Fields of the resource that are computed when it is built, or stored in another form. */
type ComputedField =
  | 'id'
  | 'created_at'
  | 'deletion_requested_at'
  | 'deletion_scheduled_at'
  | 'trainer_license_link'
  | 'referral_score'
  | 'referrals_count'
  | 'roles'
  | 'media'
  | 'current_subscription';

/** The fields of the resource (contracts/user.ts) that are stored as shown. The phone is in E.164. */
export type StoredUserFields = Omit<WholeUser, ComputedField>;

export interface User extends StoredUserFields {
  _id: number;
  /** The argon2id hash as a PHC string. */
  password_hash: string;
  created_at: Date;
  /** Whether the owner has entered a code that was sent to the phone. */
  phone_proven: boolean;
  trainer_license_media_id: number | null;
  /** The newest document ever received, even if it has been deleted. An older one is never attached. */
  trainer_license_newest_media_id: number | null;
  /** The name that the license was reviewed for, once the account has another name. */
  trainer_license_reviewed_name: string | null;
  role_ids: number[];
  /** The public files (docs/adr/0101). Older releases did not store them. */
  media?: MediaCopy;
  /** The last subscription, according to the events of store-billing. Older releases did not store it; a rebuild does. */
  subscription?: StoredSubscription;
  /** Whether the user has ever referred anyone. */
  has_referrals: boolean;
  /** Both are set while a deletion is pending, otherwise both are null. */
  deletion_requested_at: Date | null;
  deletion_scheduled_at: Date | null;
  /** Incremented by every change of the account: the aggregate version of its events. */
  version: number;
  /** Incremented when all credentials are revoked. */
  credential_epoch: number;
}

export const isPendingDeletion = (user: User): boolean => user.deletion_scheduled_at !== null;
