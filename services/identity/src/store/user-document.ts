/** How an account is stored, with the fields that follow from others. */
import type { Connection } from '@fitness/shared/mongo/connect.ts';
import { erase, privacy, retain } from '@fitness/shared/mongo/privacy.ts';
import mongoose, { type Model } from 'mongoose';
import { localPhone } from '../domain/phone.ts';
import { indexText } from '../domain/search-text.ts';
import type { User } from '../domain/user.ts';

/** The fields that are derived from others and written with them. */
interface DerivedFields {
  search_text: string;
  search_grams: string[];
  search_all_text: string;
  search_all_grams: string[];
}

/** Which lists an account is in: an index counts by it, as it cannot by a date that is there or not. */
const STANDINGS = ['live', 'pending', 'erased'] as const;
export type Standing = (typeof STANDINGS)[number];

export type StoredUser = User &
  DerivedFields & {
    erased_at: Date | null;
    standing: Standing;
    tokens_issued: number;
    pins: number;
    /** Whether they have ever referred anybody. */
    has_referrals: boolean;
  };

/** A partial index serves a query only when the query repeats its condition, in words the database can compare. */
export const LONG_AGO = new Date(0);

const schema = new mongoose.Schema<StoredUser>(
  {
    _id: Number,
    username: { type: String, default: null },
    email: { type: String, default: null },
    phone: String,
    password_hash: { type: String, default: null },
    first_name: { type: String, default: null },
    last_name: { type: String, default: null },
    created_at: Date,
    referral_code: String,
    referrer_user_id: { type: Number, default: null },
    height: { type: Number, default: null },
    birth_date: { type: String, default: null },
    gender: { type: String, default: null },
    bank_account_number: { type: String, default: null },
    is_trainer: { type: Boolean, default: false },
    is_gym_owner: { type: Boolean, default: false },
    trainer_license_image: { type: String, default: null },
    trainer_license_media_id: { type: Number, default: null },
    trainer_license_newest_media_id: { type: Number, default: null },
    trainer_license_approved: { type: Boolean, default: null },
    trainer_license_rejection_reason: { type: String, default: null },
    role_ids: [Number],
    deletion_requested_at: { type: Date, default: null },
    deletion_scheduled_at: { type: Date, default: null },
    erased_at: { type: Date, default: null },
    standing: { type: String, enum: STANDINGS, required: true },
    version: { type: Number, default: 1 },
    credential_epoch: { type: Number, default: 0 },
    tokens_issued: { type: Number, default: 0 },
    pins: { type: Number, default: 0 },
    has_referrals: { type: Boolean, default: false },
    search_text: String,
    search_grams: [String],
    search_all_text: String,
    search_all_grams: [String],
  },
  { versionKey: false, collection: 'users' },
)
  // Partial: an erased account has none.
  .index({ referral_code: 1 }, { unique: true, partialFilterExpression: { referral_code: { $gt: '' } } })
  .index({ referrer_user_id: 1, has_referrals: 1, _id: 1 })
  .index(
    { deletion_scheduled_at: 1 },
    { partialFilterExpression: { deletion_scheduled_at: { $gt: LONG_AGO } } },
  )
  .index({ standing: 1, is_trainer: 1, _id: 1 })
  .index({ role_ids: 1, _id: 1 })
  .index({ search_grams: 1, _id: 1 })
  .index({ search_all_grams: 1, _id: 1 });

privacy(
  schema,
  erase('who the person is', 'username', 'email', 'phone', 'password_hash', 'first_name', 'last_name'),
  erase('the profile', 'height', 'birth_date', 'gender', 'bank_account_number', 'is_trainer', 'is_gym_owner'),
  erase(
    'the licence',
    'trainer_license_image',
    'trainer_license_media_id',
    'trainer_license_newest_media_id',
  ),
  erase('its review', 'trainer_license_approved', 'trainer_license_rejection_reason'),
  erase('given to others by the person', 'referral_code'),
  erase('nobody signs in with it any more', 'role_ids', 'deletion_requested_at', 'deletion_scheduled_at'),
  erase('made of the names', 'search_text', 'search_grams', 'search_all_text', 'search_all_grams'),
  retain('the tombstone: payments and receipts name it, and it is counted where it was invited', '_id'),
  retain('likewise', 'created_at', 'referrer_user_id', 'erased_at', 'standing'),
  retain('whom it has invited are counted on', 'has_referrals'),
  retain('counters that order what is written', 'version', 'credential_epoch', 'tokens_issued', 'pins'),
);

export const userModel = (connection: Connection): Model<StoredUser> =>
  (connection.models.User as Model<StoredUser> | undefined) ?? connection.model<StoredUser>('User', schema);

type Named = Pick<User, 'username' | 'email' | 'phone' | 'first_name' | 'last_name'>;

export const deriveFields = (user: Named): DerivedFields => {
  const shown = [user.username, `${user.first_name} ${user.last_name}`];
  const local = localPhone(user.phone);
  const everything = [...shown, user.email, user.phone, ...(local === undefined ? [] : [local])];
  const visible = indexText(shown);
  const all = indexText(everything);
  return {
    search_text: visible.text,
    search_grams: visible.grams,
    search_all_text: all.text,
    search_all_grams: all.grams,
  };
};

/** For `select`: what readers of an account do not need. */
export const HIDDEN_FROM_READERS = {
  search_text: 0,
  search_grams: 0,
  search_all_text: 0,
  search_all_grams: 0,
  tokens_issued: 0,
  pins: 0,
  has_referrals: 0,
  erased_at: 0,
  standing: 0,
} as const;

const { erased_at: _needed, ...hiddenInDoubt } = HIDDEN_FROM_READERS;

/** For `select`, where it is not known whether the account is erased; see {@link alive}. */
export const HIDDEN_IN_DOUBT = hiddenInDoubt;

/** The account, unless it is erased. */
export const alive = (found: (User & { erased_at: Date | null }) | null): User | null => {
  if (found === null || found.erased_at !== null) return null;
  const { erased_at: _erased, ...user } = found;
  return user;
};

/** What an erasure sets and, below, removes. */
export const ERASED = {
  username: null,
  email: null,
  password_hash: null,
  first_name: null,
  last_name: null,
  height: null,
  birth_date: null,
  gender: null,
  bank_account_number: null,
  is_trainer: false,
  is_gym_owner: false,
  trainer_license_image: null,
  trainer_license_media_id: null,
  trainer_license_newest_media_id: null,
  trainer_license_approved: null,
  trainer_license_rejection_reason: null,
  role_ids: [],
  deletion_requested_at: null,
  deletion_scheduled_at: null,
  search_grams: [],
  search_all_grams: [],
};

export const FREED = {
  phone: 1,
  referral_code: 1,
  search_text: 1,
  search_all_text: 1,
} as const;
