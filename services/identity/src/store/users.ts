/** Accounts. Reads return only live accounts, unless a method says otherwise. */
import type { MediaCopy } from '@fitness/contracts/media-copy.ts';
import { sameWords } from '@fitness/shared/kernel/same-words.ts';
import { createTickBatch } from '@fitness/shared/kernel/tick-batch.ts';
import { createRowTexts, type RowTexts } from '@fitness/shared/lists/texts.ts';
import { COMMAND_MAX_MS } from '@fitness/shared/mongo/command-rules.ts';
import { type ClientSession, type Connection, trusted } from '@fitness/shared/mongo/connect.ts';
import { inTransaction, isDuplicateKey } from '@fitness/shared/mongo/transaction.ts';
import { LOGIN_FIELDS, type LoginField, loginKey, loginKeysOf } from '../domain/login.ts';
import { contactTexts, type SearchedFields, searchGrams } from '../domain/search-text.ts';
import { NO_USER_ID, type User } from '../domain/user.ts';
import { createLoginKeys, type FoundKey, type LoginKeys, TakenError } from './login-keys.ts';
import type { Revocations } from './revocations.ts';
import {
  ERASURE,
  isPersonalUserField,
  liveOrNull,
  OLDER_INDEXES,
  OLDER_TEXTS,
  type Standing,
  type StoredUser,
  toUser,
  userModel,
  userTextModel,
  WITH_ERASED_AT,
  WITHOUT_INTERNAL_FIELDS,
} from './user-document.ts';
import { createReferralQueries, createUserQueries } from './user-queries.ts';

export type { DueAccount, UserFilter } from './user-queries.ts';

/** An account, with the username, email or phone by which it was found. */
export interface FoundLogin {
  user: User;
  key: FoundKey;
}

/** Changes to an account. Login keys and search texts are updated with them. */
type UserChanges = Partial<
  Omit<User, '_id' | 'version' | 'credential_epoch' | 'has_referrals' | 'created_at' | 'media'>
>;

type Tombstone = Pick<User, 'version' | 'created_at'>;

type FieldWithDefault = {
  [Field in keyof User]-?: null extends User[Field] ? Field : User[Field] extends boolean ? Field : never;
}[keyof User];

/** Nullable and boolean fields may be omitted. They default to the schema's values. */
export type NewUser = Omit<User, FieldWithDefault | 'version' | 'credential_epoch'> &
  Partial<Pick<User, FieldWithDefault>>;

const takenField = (error: unknown): LoginField | 'referral_code' | undefined => {
  if (error instanceof TakenError) return error.field;
  return isDuplicateKey(error, 'referral_code') ? 'referral_code' : undefined;
};

const createTexts = (connection: Connection) =>
  createRowTexts(
    userTextModel(connection),
    userModel(connection).collection,
    ['username', 'email', 'phone', 'first_name', 'last_name', 'erased_at'],
    (work) => inTransaction(connection, work),
    {
      gramsOf: (row) => {
        const { erased_at = null, ...user } = row as unknown as Partial<StoredUser> & SearchedFields;
        return erased_at === null ? searchGrams(user) : [];
      },
      older: OLDER_TEXTS,
      olderIndexes: OLDER_INDEXES,
      pin: 'pins',
    },
  );

export type Users = ReturnType<typeof createUsers>;

export const createUsers = (connection: Connection, revocations: Revocations) => {
  const keys = createLoginKeys(connection);
  const texts = createTexts(connection);
  return {
    /** The unique field that made a write fail; undefined for every other error. */
    takenField,
    isPersonal: isPersonalUserField,
    /** Corrects the search texts of every account and returns how many were wrong. Reads the whole collection. */
    reindex: texts.reindex,
    /** Sign-ins and their networks (login-keys.ts). */
    recordSignIn: keys.recordSignIn,
    knowsNetwork: keys.knowsNetwork,
    forgetNetworks: keys.forgetNetworks,
    ...createReads(connection, keys),
    ...createWrites(connection, keys, texts, revocations),
    ...createDeletionWrites(connection, keys, texts, revocations),
    ...createUserQueries(connection),
    ...createReferralQueries(connection),
  };
};

const createFindOne =
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

const createReads = (connection: Connection, keys: LoginKeys) => {
  const users = userModel(connection);
  const findOne = createFindOne(connection);
  const withIds = (ids: number[]) =>
    users
      .find({ _id: trusted({ $in: ids }) })
      .select(WITH_ERASED_AT)
      .lean<(User & { erased_at: Date | null })[]>();
  const readTogether = createTickBatch(async (ids: number[]) => {
    const rows = await withIds(ids).maxTimeMS(COMMAND_MAX_MS);
    return new Map(rows.map((user) => [user._id, liveOrNull(user)]));
  });

  /** Finds an account by username, email or phone in any usual spelling. An unknown login costs the same reads. */
  const findLogin = async (login: string): Promise<FoundLogin | null> => {
    const values = loginKeysOf(login);
    const keysByValue = await keys.find(values);
    const key = values.map((value) => keysByValue.get(value)).find((candidate) => candidate !== undefined);
    const user = await findOne({ _id: key?.user_id ?? NO_USER_ID });
    return user === null || key === undefined ? null : { user, key };
  };

  return {
    /** Null for an erased or unknown account. Outside transactions, callers in the same event loop tick share a query. */
    find: async (id: number, session?: ClientSession): Promise<User | null> =>
      session === undefined ? ((await readTogether([id])).get(id) ?? null) : findOne({ _id: id }, session),

    /** Returns accounts in any order, without erased and unknown ones. */
    findMany: async (ids: readonly number[]): Promise<User[]> => {
      const rows = await withIds([...ids]);
      return rows.map(liveOrNull).filter((user) => user !== null);
    },

    /** The tombstones of those accounts in `ids` that were erased. */
    findErased: async (ids: readonly number[]): Promise<Pick<User, '_id' | 'created_at'>[]> => {
      const rows = await users
        .find({ _id: trusted({ $in: [...ids] }) })
        .select({ created_at: 1, erased_at: 1 })
        .lean<(Pick<User, '_id' | 'created_at'> & { erased_at: Date | null })[]>();
      return rows
        .filter(({ erased_at }) => erased_at !== null)
        .map(({ _id, created_at }) => ({ _id, created_at }));
    },

    findLogin,

    findByLogin: async (login: string): Promise<User | null> => (await findLogin(login))?.user ?? null,

    findByReferralCode: (code: string) => findOne({ referral_code: code }),

    /** The fields whose value belongs to an account other than `exceptUserId`. */
    findTaken: async (
      values: Partial<Pick<User, LoginField>>,
      exceptUserId?: number,
    ): Promise<LoginField[]> => {
      const candidates = LOGIN_FIELDS.flatMap((field) => {
        const value = values[field];
        return value === undefined ? [] : [{ field, key: loginKey(field, value) }];
      });
      if (candidates.length === 0) return [];
      const owners = await keys.find(candidates.map(({ key }) => key));
      return candidates
        .filter(({ key }) => owners.has(key) && owners.get(key)?.user_id !== exceptUserId)
        .map(({ field }) => field);
    },
  };
};

/** A conditional write to a live account that increments its version; null when the filter does not match. */
const createUpdateOne =
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

const createWrites = (connection: Connection, keys: LoginKeys, texts: RowTexts, revocations: Revocations) => {
  const users = userModel(connection);
  const findOne = createFindOne(connection);
  const updateOne = createUpdateOne(connection);

  /** Writes only for the first referral, so that concurrent registrations do not contend for the referrer's document. */
  const markReferrer = async (session: ClientSession, id: number): Promise<void> => {
    await users.updateOne({ _id: id, has_referrals: false }, { $set: { has_referrals: true } }, { session });
  };

  return {
    /** Throws an error that `takenField` recognizes. `network`: keyed hash of the network that registers the account. */
    insert: async (session: ClientSession, user: NewUser, network?: string): Promise<User> => {
      await keys.claimAll(session, user._id, user, network === undefined ? [] : [network]);
      const standing: Standing = user.deletion_scheduled_at ? 'pending' : 'live';
      const [created] = await users.create([{ ...user, standing }], { session });
      if (created === undefined) throw new Error('the account was not created');
      const row = toUser(created.toObject());
      await texts.add(session, row._id, row);
      if (row.referrer_user_id !== null) await markReferrer(session, row.referrer_user_id);
      return row;
    },

    /** Returns the updated account; null when there is no live one. Throws an error that `takenField` recognizes. */
    update: async (session: ClientSession, id: number, changes: UserChanges): Promise<User | null> => {
      const current = await findOne({ _id: id }, session);
      if (current === null || Object.keys(changes).length === 0) return current;
      if (changes.role_ids !== undefined) revocations.add(session, id);
      const next = { ...current, ...changes };
      await keys.move(session, id, current, next);
      // Proof of the old number proves nothing about the new one.
      const proof = next.phone === current.phone ? {} : { phone_proven: changes.phone_proven ?? false };
      const updated = await updateOne(session, { _id: id }, { ...changes, ...proof });
      if (!sameWords(contactTexts(current), contactTexts(next))) {
        await texts.remove(session, [id]);
        await texts.add(session, id, next);
      }
      return updated;
    },

    /** Ignores a copy that is older than the stored one. No effect without a live account. */
    saveMedia: async (
      session: ClientSession | undefined,
      id: number,
      { version, files }: MediaCopy,
    ): Promise<void> => {
      const older: Record<string, unknown> = { 'media.version': trusted({ $not: { $gt: version } }) };
      const copy = { $set: { media: { version, files } } };
      await users.updateOne({ _id: id, erased_at: null, ...older }, copy, session && { session });
    },

    /** Marks the phone as proven: its owner has entered a code that was sent to it. */
    provePhone: async (session: ClientSession, id: number): Promise<void> => {
      await users.updateOne({ _id: id, erased_at: null }, { $set: { phone_proven: true } }, { session });
    },

    /** Null without a live account, or if its credentials were revoked since `credentialEpoch` was read. */
    setPassword: (
      session: ClientSession,
      id: number,
      passwordHash: string,
      credentialEpoch?: number,
    ): Promise<User | null> =>
      updateOne(
        session,
        { _id: id, ...(credentialEpoch === undefined ? {} : { credential_epoch: credentialEpoch }) },
        { password_hash: passwordHash },
      ),
  };
};

/** Schedules, cancels, postpones and completes the deletion of an account. */
const createDeletionWrites = (
  connection: Connection,
  keys: LoginKeys,
  texts: RowTexts,
  revocations: Revocations,
) => {
  const users = userModel(connection);
  const updateOne = createUpdateOne(connection);
  return {
    /** Null when there is no live account, or its deletion is already pending. */
    scheduleDeletion: (
      session: ClientSession,
      id: number,
      dates: { requestedAt: Date; scheduledAt: Date },
    ): Promise<User | null> =>
      updateOne(
        session,
        { _id: id, deletion_scheduled_at: null },
        {
          deletion_requested_at: dates.requestedAt,
          deletion_scheduled_at: dates.scheduledAt,
          standing: 'pending',
        },
      ),

    /** Null when no deletion is pending. */
    cancelDeletion: (session: ClientSession, id: number): Promise<User | null> =>
      updateOne(
        session,
        { _id: id, deletion_scheduled_at: trusted({ $ne: null }) },
        { deletion_requested_at: null, deletion_scheduled_at: null, standing: 'live' },
      ),

    /** Null when the deletion is no longer scheduled for `dates.from`. */
    postponeDeletion: (
      session: ClientSession,
      id: number,
      dates: { from: Date; to: Date },
    ): Promise<User | null> =>
      updateOne(session, { _id: id, deletion_scheduled_at: dates.from }, { deletion_scheduled_at: dates.to }),

    /**
     * Replaces the account with an anonymous tombstone and releases its username, email and phone. With `dueOn`, only if the
     * deletion is scheduled for that date. Returns the tombstone. If the account is not live or not due, returns null and
     * writes nothing.
     */
    erase: async (
      session: ClientSession,
      id: number,
      erasedAt: Date,
      dueOn?: Date,
    ): Promise<Tombstone | null> => {
      revocations.add(session, id);
      const due = dueOn === undefined ? {} : { deletion_scheduled_at: dueOn };
      const tombstone = await users
        .findOneAndUpdate(
          { _id: id, ...due, erased_at: null },
          {
            $set: { ...ERASURE.$set, erased_at: erasedAt, standing: 'erased' },
            $unset: ERASURE.$unset,
            $inc: { version: 1, credential_epoch: 1 },
          },
          { returnDocument: 'after', session },
        )
        .select({ version: 1, created_at: 1 })
        .lean<Tombstone>();
      if (tombstone === null) return null;
      await keys.releaseAll(session, id);
      await texts.remove(session, [id]);
      return tombstone;
    },

    /** The account that was created at that time, or its tombstone; null when the id belongs to another account. */
    findCreatedAt: async (
      session: ClientSession,
      id: number,
      createdAt: Date,
    ): Promise<Pick<StoredUser, 'version' | 'erased_at'> | null> => {
      const row = await users
        .findById(id)
        .select({ version: 1, created_at: 1, erased_at: 1 })
        .session(session)
        .lean<Tombstone & Pick<StoredUser, 'erased_at'>>();
      return row?.created_at.getTime() === createdAt.getTime() ? row : null;
    },

    /**
     * Writes the document of a live account; false when there is none. The write conflicts with an erasure: the account
     * stays live until the transaction ends, and no personal data is stored after the erasure.
     */
    touchIfLive: async (session: ClientSession, id: number): Promise<boolean> => {
      const touched = await users.updateOne({ _id: id, erased_at: null }, { $inc: { pins: 1 } }, { session });
      return touched.matchedCount === 1;
    },
  };
};
