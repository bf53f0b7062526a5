/** Accounts. Only live ones are ever handed out; what is left of an erased one serves counts and sums. */
import { type ClientSession, type Connection, trusted } from '@fitness/shared/mongo/connect.ts';
import { isDuplicateKey } from '@fitness/shared/mongo/transaction.ts';
import mongoose, { type Model } from 'mongoose';
import { emailKey, loginKeys, usernameKey } from '../domain/login.ts';
import { localPhone } from '../domain/phone.ts';
import { indexText, type SearchQuery } from '../domain/search-text.ts';
import type { User } from '../domain/user.ts';

/** The fields that are derived from others and written with them. */
interface Derived {
  username_key: string;
  email_key: string;
  search_text: string;
  search_grams: string[];
  search_all_text: string;
  search_all_grams: string[];
}

type Stored = User & Derived & { erased_at: Date | null; tokens_issued: number };

/** What can be changed on a live account; keys and search fields follow by themselves. */
export type UserChanges = Partial<Omit<User, '_id' | 'version' | 'credential_epoch' | 'created_at'>>;
export type NewUser = Omit<User, 'version' | 'credential_epoch'>;

export type UniqueField = 'username' | 'email' | 'phone';

export interface UserFilter {
  search?: SearchQuery | undefined;
  /** The search also looks at e-mail and phone. */
  searchEverything: boolean;
  isTrainer?: boolean | undefined;
  roleId?: number | undefined;
  withPending: boolean;
  ascending: boolean;
}

export interface UserWindow {
  skip: number;
  limit: number;
  /** Only rows behind this id, in the order asked for. */
  afterId?: number | undefined;
}

const present = { $type: 'string' };

const schema = new mongoose.Schema<Stored>(
  {
    _id: Number,
    username: { type: String, default: null },
    username_key: String,
    email: { type: String, default: null },
    email_key: String,
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
    trainer_license_approved: { type: Boolean, default: null },
    trainer_license_rejection_reason: { type: String, default: null },
    role_ids: [Number],
    deletion_requested_at: { type: Date, default: null },
    deletion_scheduled_at: { type: Date, default: null },
    erased_at: { type: Date, default: null },
    version: { type: Number, default: 1 },
    credential_epoch: { type: Number, default: 0 },
    tokens_issued: { type: Number, default: 0 },
    search_text: String,
    search_grams: [String],
    search_all_text: String,
    search_all_grams: [String],
  },
  { versionKey: false, collection: 'users' },
)
  // Partial: an erased account has none of these and frees them.
  .index({ username_key: 1 }, { unique: true, partialFilterExpression: { username_key: present } })
  .index({ email_key: 1 }, { unique: true, partialFilterExpression: { email_key: present } })
  .index({ phone: 1 }, { unique: true, partialFilterExpression: { phone: present } })
  .index({ referral_code: 1 }, { unique: true, partialFilterExpression: { referral_code: present } })
  .index({ referrer_user_id: 1, _id: 1 })
  .index(
    { deletion_scheduled_at: 1 },
    { partialFilterExpression: { deletion_scheduled_at: { $type: 'date' } } },
  )
  .index({ erased_at: 1, deletion_scheduled_at: 1, _id: 1 })
  .index({ is_trainer: 1, _id: 1 })
  .index({ role_ids: 1, _id: 1 })
  .index({ search_grams: 1, _id: 1 })
  .index({ search_all_grams: 1, _id: 1 });

export const userModel = (connection: Connection): Model<Stored> =>
  (connection.models.User as Model<Stored> | undefined) ?? connection.model<Stored>('User', schema);

type Named = Pick<User, 'username' | 'email' | 'phone' | 'first_name' | 'last_name'>;

const derive = (user: Named): Derived => {
  const shown = [user.username, `${user.first_name} ${user.last_name}`];
  const local = localPhone(user.phone);
  const everything = [...shown, user.email, user.phone, ...(local === undefined ? [] : [local])];
  const visible = indexText(shown);
  const all = indexText(everything);
  return {
    username_key: usernameKey(user.username),
    email_key: emailKey(user.email),
    search_text: visible.text,
    search_grams: visible.grams,
    search_all_text: all.text,
    search_all_grams: all.grams,
  };
};

const HIDDEN_FROM_READERS = {
  username_key: 0,
  email_key: 0,
  search_text: 0,
  search_grams: 0,
  search_all_text: 0,
  search_all_grams: 0,
  tokens_issued: 0,
  erased_at: 0,
} as const;

const ERASED = {
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
  trainer_license_approved: null,
  trainer_license_rejection_reason: null,
  role_ids: [],
  deletion_requested_at: null,
  deletion_scheduled_at: null,
  search_grams: [],
  search_all_grams: [],
};

const FREED = {
  username_key: 1,
  email_key: 1,
  phone: 1,
  referral_code: 1,
  search_text: 1,
  search_all_text: 1,
} as const;

const toFilter = (filter: UserFilter): Record<string, unknown> => {
  const { search, isTrainer, roleId } = filter;
  const [grams, text] = filter.searchEverything
    ? ['search_all_grams', '$search_all_text']
    : ['search_grams', '$search_text'];
  return {
    erased_at: null,
    ...(filter.withPending ? {} : { deletion_scheduled_at: null }),
    ...(isTrainer === undefined ? {} : { is_trainer: isTrainer }),
    ...(roleId === undefined ? {} : { role_ids: roleId }),
    ...(search === undefined
      ? {}
      : {
          [grams]: trusted({ $all: search.grams }),
          $expr: trusted({
            $or: search.texts.map((wanted) => ({
              $gte: [{ $indexOfCP: [text, { $literal: wanted }] }, 0],
            })),
          }),
        }),
  };
};

const takenField = (error: unknown): UniqueField | 'referral_code' | undefined => {
  if (isDuplicateKey(error, 'username_key') || isDuplicateKey(error, 'username_key_1')) return 'username';
  if (isDuplicateKey(error, 'email_key') || isDuplicateKey(error, 'email_key_1')) return 'email';
  if (isDuplicateKey(error, 'phone') || isDuplicateKey(error, 'phone_1')) return 'phone';
  if (isDuplicateKey(error, 'referral_code') || isDuplicateKey(error, 'referral_code_1'))
    return 'referral_code';
  return undefined;
};

export type UserRow = User;
export type UserStore = ReturnType<typeof createUserStore>;

export const createUserStore = (connection: Connection) => {
  const users = userModel(connection);
  const one = (filter: Record<string, unknown>, session?: ClientSession): Promise<User | null> =>
    users
      .findOne({ ...filter, erased_at: null })
      .select(HIDDEN_FROM_READERS)
      .session(session ?? null)
      .lean<User>();

  /** One conditional write on a live account; null when it does not match. */
  const change = (
    session: ClientSession,
    filter: Record<string, unknown>,
    set: Record<string, unknown>,
  ): Promise<User | null> =>
    users
      .findOneAndUpdate(
        { ...filter, erased_at: null },
        { $set: set, $inc: { version: 1 } },
        { returnDocument: 'after', session },
      )
      .select(HIDDEN_FROM_READERS)
      .lean<User>();

  return {
    /** The unique field that refused a write, if that is what `error` says. */
    takenField,

    /** A live account; null for an erased one as for one that never was. */
    findById: (id: number, session?: ClientSession) => one({ _id: id }, session),

    /** In the order of the store; unknown and erased ids are missing. */
    findByIds: (ids: readonly number[]): Promise<User[]> =>
      users
        .find({ _id: trusted({ $in: [...ids] }), erased_at: null })
        .select(HIDDEN_FROM_READERS)
        .lean<User[]>(),

    /**
     * By user name, e-mail or phone in any usual spelling. A number is its phone's owner's, whoever has taken it as
     * a user name.
     */
    findByLogin: async (login: string): Promise<User | null> => {
      const { username, email, phone } = loginKeys(login);
      const found = await users
        .find({
          $or: [
            { username_key: username },
            { email_key: email },
            ...(phone === undefined ? [] : [{ phone }]),
          ],
          erased_at: null,
        })
        .select(HIDDEN_FROM_READERS)
        .lean<User[]>();
      return (
        found.find((user) => user.phone === phone) ??
        found.find((user) => emailKey(user.email) === email) ??
        found[0] ??
        null
      );
    },

    findByReferralCode: (code: string) => one({ referral_code: code }),

    /** Which of these another live account has. */
    findTaken: async (
      wanted: Partial<Pick<User, UniqueField>>,
      exceptUserId?: number,
    ): Promise<UniqueField[]> => {
      const keys: [UniqueField, Record<string, string>][] = [];
      if (wanted.username !== undefined)
        keys.push(['username', { username_key: usernameKey(wanted.username) }]);
      if (wanted.email !== undefined) keys.push(['email', { email_key: emailKey(wanted.email) }]);
      if (wanted.phone !== undefined) keys.push(['phone', { phone: wanted.phone }]);
      const taken = await Promise.all(
        keys.map(async ([field, filter]) => {
          const holder = await users.findOne(filter).select({ _id: 1 }).lean();
          return holder === null || holder._id === exceptUserId ? [] : [field];
        }),
      );
      return taken.flat();
    },

    /** Throws a duplicate-key error that `takenField` can read. */
    insert: async (session: ClientSession, user: NewUser): Promise<User> => {
      const row = { ...user, version: 1, credential_epoch: 0 };
      await users.create([{ ...row, ...derive(user), erased_at: null, tokens_issued: 0 }], { session });
      return row;
    },

    /**
     * Changes a live account and returns it as it is then; null when there is none. The version grows by one.
     * Throws a duplicate-key error that `takenField` can read.
     */
    update: async (session: ClientSession, id: number, changes: UserChanges): Promise<User | null> => {
      const current = await one({ _id: id }, session);
      if (current === null) return null;
      return change(session, { _id: id }, { ...changes, ...derive({ ...current, ...changes }) });
    },

    /** With `credentialEpoch`: null also when all credentials were revoked since it was read. */
    setPassword: (
      session: ClientSession,
      id: number,
      passwordHash: string,
      credentialEpoch?: number,
    ): Promise<User | null> =>
      change(
        session,
        { _id: id, ...(credentialEpoch === undefined ? {} : { credential_epoch: credentialEpoch }) },
        { password_hash: passwordHash },
      ),

    /** null when there is no such live account, or its deletion is pending already. */
    scheduleDeletion: (
      session: ClientSession,
      id: number,
      dates: { requestedAt: Date; scheduledAt: Date },
    ): Promise<User | null> =>
      change(
        session,
        { _id: id, deletion_scheduled_at: null },
        { deletion_requested_at: dates.requestedAt, deletion_scheduled_at: dates.scheduledAt },
      ),

    /** null when no deletion is pending. */
    cancelDeletion: (session: ClientSession, id: number): Promise<User | null> =>
      change(
        session,
        { _id: id, deletion_scheduled_at: trusted({ $ne: null }) },
        { deletion_requested_at: null, deletion_scheduled_at: null },
      ),

    /** A blocked one: asked again at `scheduledAt`. null when its deletion is not pending any more. */
    postponeDeletion: (session: ClientSession, id: number, scheduledAt: Date): Promise<User | null> =>
      change(
        session,
        { _id: id, deletion_scheduled_at: trusted({ $ne: null }) },
        { deletion_scheduled_at: scheduledAt },
      ),

    /** Leaves an anonymous tombstone; user name, e-mail and phone are free again. Its version; null: not alive. */
    erase: async (session: ClientSession, id: number, erasedAt: Date): Promise<number | null> => {
      const tombstone = await users
        .findOneAndUpdate(
          { _id: id, erased_at: null },
          {
            $set: { ...ERASED, erased_at: erasedAt },
            $unset: FREED,
            $inc: { version: 1, credential_epoch: 1 },
          },
          { returnDocument: 'after', session },
        )
        .select({ version: 1 })
        .lean<{ version: number }>();
      return tombstone?.version ?? null;
    },

    /** Accounts whose grace period is over, the longest waiting first. */
    findDueForDeletion: async (now: Date, limit: number): Promise<number[]> => {
      const due = await users
        .find({ deletion_scheduled_at: trusted({ $type: 'date', $lte: now }), erased_at: null })
        .select({ _id: 1 })
        .sort({ deletion_scheduled_at: 1 })
        .limit(limit)
        .lean();
      return due.map((user) => user._id);
    },

    list: (filter: UserFilter, window: UserWindow): Promise<User[]> => {
      const { afterId } = window;
      const behind = filter.ascending ? trusted({ $gt: afterId }) : trusted({ $lt: afterId });
      return users
        .find({ ...toFilter(filter), ...(afterId === undefined ? {} : { _id: behind }) } as object)
        .select(HIDDEN_FROM_READERS)
        .sort({ _id: filter.ascending ? 1 : -1 })
        .skip(window.skip)
        .limit(window.limit)
        .lean<User[]>();
    },

    count: (filter: UserFilter): Promise<number> => users.countDocuments(toFilter(filter)),

    /** Whether a live account has this role. */
    someoneHasRole: async (roleId: number): Promise<boolean> =>
      (await users.exists({ role_ids: roleId, erased_at: null })) !== null,

    /** Of these ids: whose deletion is pending, and which are erased or never were. */
    partitionHidden: async (ids: readonly number[]): Promise<{ pending: number[]; gone: number[] }> => {
      const found = await users
        .find({ _id: trusted({ $in: [...ids] }), erased_at: null })
        .select({ deletion_scheduled_at: 1 })
        .lean<Pick<User, '_id' | 'deletion_scheduled_at'>[]>();
      const alive = new Set(found.map((user) => user._id));
      return {
        pending: found.filter((user) => user.deletion_scheduled_at !== null).map((user) => user._id),
        gone: [...new Set(ids)].filter((id) => !alive.has(id)),
      };
    },

    /** Direct referrals of each, erased ones included; without an entry: none. */
    countReferrals: async (ids: readonly number[]): Promise<Map<number, number>> => {
      const groups = await users.aggregate<{ _id: number; count: number }>([
        { $match: { referrer_user_id: { $in: [...ids] } } },
        { $group: { _id: '$referrer_user_id', count: { $sum: 1 } } },
      ]);
      return new Map(groups.map(({ _id, count }) => [_id, count]));
    },

    /** The ids of all direct referrals of these. */
    findReferralsOf: async (ids: readonly number[]): Promise<number[]> => {
      const rows = await users
        .find({ referrer_user_id: trusted({ $in: [...ids] }) })
        .select({ _id: 1 })
        .lean();
      return rows.map((row) => row._id);
    },

    /** An upper bound for sums over all users. */
    estimateCount: (): Promise<number> => users.estimatedDocumentCount(),
  };
};
