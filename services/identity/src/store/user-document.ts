/** The stored form of an account, and of the grams by which it is found. */

import { type TextDocument, textSchema } from '@fitness/shared/lists/texts.ts';
import type { ClientSession, Connection } from '@fitness/shared/mongo/connect.ts';
import { erase, personalFieldsOf, privacyOf, retain, schemaOf } from '@fitness/shared/mongo/privacy.ts';
import { defaultsOf } from '@fitness/shared/mongo/stored-defaults.ts';
import mongoose, { type Model } from 'mongoose';
import type { User } from '../domain/user.ts';
import { guardRevocations } from './revocations.ts';

/** The state of an account, derived from its dates. An index can count by state, but not by whether a date is null. */
const STANDINGS = ['live', 'pending', 'erased'] as const;
export type Standing = (typeof STANDINGS)[number];

export interface StoredUser extends User {
  erased_at: Date | null;
  standing: Standing;
  tokens_issued: number;
  /** Incremented by a write that must conflict with an erasure. */
  pins: number;
}

/** A partial index is used only by queries that repeat its condition, here `$gt: EPOCH`. */
export const EPOCH = new Date(0);

const schema = schemaOf<StoredUser>(
  { versionKey: false, collection: 'users' },
  erase('identifies the person', {
    username: { type: String, default: null },
    email: { type: String, default: null },
    phone: String,
    password_hash: { type: String, default: null },
    first_name: { type: String, default: null },
    last_name: { type: String, default: null },
  }),
  erase('whether the phone is proven', { phone_proven: { type: Boolean, default: false } }),
  erase('the profile', {
    height: { type: Number, default: null },
    birth_date: { type: String, default: null },
    gender: { type: String, default: null },
    bank_account_number: { type: String, default: null },
    is_trainer: { type: Boolean, default: false },
    is_gym_owner: { type: Boolean, default: false },
  }),
  erase('the license document', {
    trainer_license_image: { type: String, default: null },
    trainer_license_media_id: { type: Number, default: null },
    trainer_license_newest_media_id: { type: Number, default: null },
  }),
  erase('its review', {
    trainer_license_approved: { type: Boolean, default: null },
    trainer_license_rejection_reason: { type: String, default: null },
  }),
  erase('the name that it was reviewed for', {
    trainer_license_reviewed_name: { type: String, default: null },
  }),
  erase('names of files of the person', { media: mongoose.Schema.Types.Mixed }),
  erase('the copy of the subscription; store-billing keeps what was bought', {
    subscription: mongoose.Schema.Types.Mixed,
  }),
  erase('shared with others by the person', { referral_code: String }),
  erase('no longer needed', {
    role_ids: { type: [Number], default: [] },
    deletion_requested_at: { type: Date, default: null },
    deletion_scheduled_at: { type: Date, default: null },
  }),
  retain('the tombstone: payments and receipts refer to it, and it remains a referral of its referrer', {
    _id: Number,
    created_at: Date,
    referrer_user_id: { type: Number, default: null },
    erased_at: { type: Date, default: null },
    standing: { type: String, enum: STANDINGS, required: true },
  }),
  retain('the referrals of an erased account still count', {
    has_referrals: { type: Boolean, default: false },
  }),
  retain('counters that order writes', {
    version: { type: Number, default: 1 },
    credential_epoch: { type: Number, default: 0 },
    tokens_issued: { type: Number, default: 0 },
    pins: { type: Number, default: 0 },
  }),
)
  // Partial, because erased accounts have no referral code.
  .index({ referral_code: 1 }, { unique: true, partialFilterExpression: { referral_code: { $gt: '' } } })
  .index({ referrer_user_id: 1, has_referrals: 1, _id: 1 })
  .index({ deletion_scheduled_at: 1 }, { partialFilterExpression: { deletion_scheduled_at: { $gt: EPOCH } } })
  .index({ standing: 1, _id: 1 })
  .index({ standing: 1, is_trainer: 1, _id: 1 })
  .index({ role_ids: 1, _id: 1 })
  .index({ trainer_license_media_id: 1, trainer_license_approved: 1 })
  .index(
    { trainer_license_reviewed_name: 1 },
    { partialFilterExpression: { trainer_license_reviewed_name: { $gt: '' } } },
  );

/** The grams of names and of contact data, in one collection for both kinds of search. */
const gramsSchema = textSchema('users_texts', erase, 'deleted when the account is erased');

export const isPersonalUserField = personalFieldsOf(schema);

guardRevocations(schema, { subjectOf: ({ _id }) => _id, fields: ['role_ids', 'erased_at'] });

export const userModel = (connection: Connection): Model<StoredUser> =>
  connection.model<StoredUser>('User', schema);

export const userTextModel = (connection: Connection): Model<TextDocument> =>
  connection.model<TextDocument>('UserText', gramsSchema);

/** The fields in which version 1.0.0 stored search texts and grams. */
const WITHOUT_OLDER_TEXTS = {
  search_text: 0,
  search_grams: 0,
  search_all_text: 0,
  search_all_grams: 0,
} as const;
export const OLDER_TEXTS = Object.keys(WITHOUT_OLDER_TEXTS);
/** The indexes of those fields. */
export const OLDER_INDEXES = ['search_grams_1__id_1', 'search_all_grams_1__id_1'] as const;

/** Projection without the fields that {@link User} lacks. */
export const WITHOUT_INTERNAL_FIELDS = {
  ...WITHOUT_OLDER_TEXTS,
  tokens_issued: 0,
  pins: 0,
  erased_at: 0,
  standing: 0,
} as const;

const DEFAULTS = defaultsOf(schema);

/** An account that is older than a field gets its default. */
export const toUser = (stored: User): User =>
  Object.fromEntries(
    Object.entries({ ...DEFAULTS, ...stored }).filter(([field]) => !(field in WITHOUT_INTERNAL_FIELDS)),
  ) as unknown as User;

const { erased_at: _erasedAt, ...withErasedAt } = WITHOUT_INTERNAL_FIELDS;

/** The same projection with `erased_at`, for {@link liveOrNull}. */
export const WITH_ERASED_AT = withErasedAt;

export const liveOrNull = (row: (User & { erased_at: Date | null }) | null): User | null =>
  row === null || row.erased_at !== null ? null : toUser(row);

const erasedPaths = (privacyOf(schema) ?? []).flatMap(({ handling, paths }) =>
  handling === 'erase' ? paths : [],
);

const erasedFields = erasedPaths.map((path) => [path, DEFAULTS[path]] as const);

/** The update by which an erasure sets fields that are declared `erase` to their default, or removes them. */
export const ERASURE = {
  $set: Object.fromEntries(erasedFields.filter(([, value]) => value !== undefined)),
  // A process of version 1.0.0 may have written the older fields since the upgrade.
  $unset: Object.fromEntries(
    [...OLDER_TEXTS, ...erasedFields.filter(([, value]) => value === undefined).map(([path]) => path)].map(
      (path) => [path, 1],
    ),
  ),
};

/** Reads a live account. */
export const createFindOne =
  (connection: Connection) =>
  async (
    filter: { _id: number } | { referral_code: string },
    session?: ClientSession,
  ): Promise<User | null> => {
    const row = await userModel(connection)
      .findOne(filter)
      .select(WITH_ERASED_AT)
      .session(session ?? null)
      .lean<User & { erased_at: Date | null }>();
    return liveOrNull(row);
  };

/** A conditional write to a live account that increments its version; null when the filter does not match. */
export const createUpdateOne =
  (connection: Connection) =>
  async (
    session: ClientSession,
    filter: Record<string, unknown>,
    set: Record<string, unknown>,
  ): Promise<User | null> => {
    const row = await userModel(connection)
      .findOneAndUpdate(
        { ...filter, erased_at: null },
        { $set: set, $inc: { version: 1 } },
        { returnDocument: 'after', session },
      )
      .select(WITHOUT_INTERNAL_FIELDS)
      .lean<User>();
    return row && toUser(row);
  };
