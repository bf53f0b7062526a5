/** Accounts. Only live ones are ever handed out; what is left of an erased one serves counts and sums. */
import { type ClientSession, type Connection, trusted } from '@fitness/shared/mongo/connect.ts';
import { isDuplicateKey } from '@fitness/shared/mongo/transaction.ts';
import { LOGIN_FIELDS, type LoginField, loginKey, loginKeysOf } from '../domain/login.ts';
import { NOBODY, type User } from '../domain/user.ts';
import { createLoginKeys, type LoginKeys } from './login-keys.ts';
import {
  alive,
  deriveFields,
  ERASED,
  FREED,
  HIDDEN_FROM_READERS,
  HIDDEN_IN_DOUBT,
  type Standing,
  userModel,
} from './user-document.ts';
import { createReferralQueries, createUserQueries } from './user-queries.ts';

export type { DueAccount, UserFilter } from './user-queries.ts';

/** What can be changed on a live account; keys and search fields follow by themselves. */
type UserChanges = Partial<Omit<User, '_id' | 'version' | 'credential_epoch' | 'created_at'>>;
export type NewUser = Omit<User, 'version' | 'credential_epoch'>;

const takenField = (error: unknown): LoginField | 'referral_code' | undefined => {
  const { name, field } = (error ?? {}) as { name?: unknown; field?: LoginField };
  if (name === 'TakenError') return field;
  return isDuplicateKey(error, 'referral_code') ? 'referral_code' : undefined;
};

export type UserRow = User;
export type UserStore = ReturnType<typeof createUserStore>;

export const createUserStore = (connection: Connection) => {
  const keys = createLoginKeys(connection);
  return {
    /** The field that another account has, if that is why a write was refused. */
    takenField,
    ...createReads(connection, keys),
    ...createWrites(connection, keys),
    ...createDeletionWrites(connection, keys),
    ...createUserQueries(connection),
    ...createReferralQueries(connection),
  };
};

/** A live account; null for an erased one as for one that never was. */
const createFindOne =
  (connection: Connection) =>
  async (
    filter: { _id: number } | { referral_code: string },
    session?: ClientSession,
  ): Promise<User | null> => {
    const found = await userModel(connection)
      .findOne(filter)
      .select(HIDDEN_IN_DOUBT)
      .session(session ?? null)
      .lean<User & { erased_at: Date | null }>();
    return alive(found);
  };

const createReads = (connection: Connection, keys: LoginKeys) => {
  const users = userModel(connection);
  const one = createFindOne(connection);
  return {
    /** A live account; null for an erased one as for one that never was. */
    findById: (id: number, session?: ClientSession) => one({ _id: id }, session),

    /** In the order of the store; unknown and erased ids are missing. */
    findByIds: async (ids: readonly number[]): Promise<User[]> => {
      const found = await users
        .find({ _id: trusted({ $in: [...ids] }) })
        .select(HIDDEN_IN_DOUBT)
        .lean<(User & { erased_at: Date | null })[]>();
      return found.map(alive).filter((user) => user !== null);
    },

    /** What is left of those of `ids` that are erased. */
    findErased: async (ids: readonly number[]): Promise<Pick<User, '_id' | 'created_at'>[]> => {
      const found = await users
        .find({ _id: trusted({ $in: [...ids] }) })
        .select({ created_at: 1, erased_at: 1 })
        .lean<(Pick<User, '_id' | 'created_at'> & { erased_at: Date | null })[]>();
      return found
        .filter(({ erased_at }) => erased_at !== null)
        .map(({ _id, created_at }) => ({ _id, created_at }));
    },

    /** By user name, e-mail or phone in any usual spelling. One that is not there costs as many reads. */
    findByLogin: async (login: string): Promise<User | null> => {
      const wanted = loginKeysOf(login);
      const owners = await keys.findOwners(wanted);
      const key = wanted.find((candidate) => owners.has(candidate));
      return one({ _id: (key === undefined ? undefined : owners.get(key)) ?? NOBODY });
    },

    findByReferralCode: (code: string) => one({ referral_code: code }),

    /** Which of these another account has. */
    findTaken: async (
      wanted: Partial<Pick<User, LoginField>>,
      exceptUserId?: number,
    ): Promise<LoginField[]> => {
      const asked = LOGIN_FIELDS.flatMap((field) => {
        const value = wanted[field];
        return value === undefined ? [] : [{ field, key: loginKey(field, value) }];
      });
      if (asked.length === 0) return [];
      const owners = await keys.findOwners(asked.map(({ key }) => key));
      return asked
        .filter(({ key }) => owners.has(key) && owners.get(key) !== exceptUserId)
        .map(({ field }) => field);
    },
  };
};

/** One conditional write on a live account; null when it does not match. */
const createChange =
  (connection: Connection) =>
  (
    session: ClientSession,
    filter: Record<string, unknown>,
    set: Record<string, unknown>,
  ): Promise<User | null> =>
    userModel(connection)
      .findOneAndUpdate(
        { ...filter, erased_at: null },
        { $set: set, $inc: { version: 1 } },
        { returnDocument: 'after', session },
      )
      .select(HIDDEN_FROM_READERS)
      .lean<User>();

const createWrites = (connection: Connection, keys: LoginKeys) => {
  const users = userModel(connection);
  const one = createFindOne(connection);

  const change = createChange(connection);

  /** Only the first referral writes it: whoever refers thousands at once is not what they all wait for. */
  const markReferrer = async (session: ClientSession, id: number): Promise<void> => {
    await users.updateOne({ _id: id, has_referrals: false }, { $set: { has_referrals: true } }, { session });
  };

  return {
    /** Throws an error that `takenField` can read. */
    insert: async (session: ClientSession, user: NewUser): Promise<User> => {
      const row = { ...user, version: 1, credential_epoch: 0 };
      await keys.claimAll(session, user._id, user);
      const standing: Standing = user.deletion_scheduled_at === null ? 'live' : 'pending';
      const kept = { erased_at: null, standing, tokens_issued: 0 };
      await users.create([{ ...row, ...deriveFields(user), ...kept }], { session });
      if (user.referrer_user_id !== null) await markReferrer(session, user.referrer_user_id);
      return row;
    },

    /**
     * Changes a live account and returns it as it is then; null when there is none. The version grows by one.
     * Throws an error that `takenField` can read.
     */
    update: async (session: ClientSession, id: number, changes: UserChanges): Promise<User | null> => {
      const current = await one({ _id: id }, session);
      if (current === null) return null;
      const next = { ...current, ...changes };
      await keys.move(session, id, current, next);
      return change(session, { _id: id }, { ...changes, ...deriveFields(next) });
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
  };
};

/** The way to an account's end, and back. */
const createDeletionWrites = (connection: Connection, keys: LoginKeys) => {
  const users = userModel(connection);
  const change = createChange(connection);
  return {
    /** null when there is no such live account, or its deletion is pending already. */
    scheduleDeletion: (
      session: ClientSession,
      id: number,
      dates: { requestedAt: Date; scheduledAt: Date },
    ): Promise<User | null> =>
      change(
        session,
        { _id: id, deletion_scheduled_at: null },
        {
          deletion_requested_at: dates.requestedAt,
          deletion_scheduled_at: dates.scheduledAt,
          standing: 'pending',
        },
      ),

    /** null when no deletion is pending. */
    cancelDeletion: (session: ClientSession, id: number): Promise<User | null> =>
      change(
        session,
        { _id: id, deletion_scheduled_at: trusted({ $ne: null }) },
        { deletion_requested_at: null, deletion_scheduled_at: null, standing: 'live' },
      ),

    /** A blocked one: from one day to the next. null when its deletion is not pending for that day any more. */
    postponeDeletion: (
      session: ClientSession,
      id: number,
      day: { from: Date; to: Date },
    ): Promise<User | null> =>
      change(session, { _id: id, deletion_scheduled_at: day.from }, { deletion_scheduled_at: day.to }),

    /**
     * Leaves an anonymous tombstone; user name, e-mail and phone are free again. With `dueOn`: only while its deletion
     * is pending for that day. Its version; null, and nothing is written: it is not alive, or not due.
     */
    erase: async (
      session: ClientSession,
      id: number,
      erasedAt: Date,
      dueOn?: Date,
    ): Promise<number | null> => {
      const due = dueOn === undefined ? {} : { deletion_scheduled_at: dueOn };
      const tombstone = await users
        .findOneAndUpdate(
          { _id: id, ...due, erased_at: null },
          {
            $set: { ...ERASED, erased_at: erasedAt, standing: 'erased' },
            $unset: FREED,
            $inc: { version: 1, credential_epoch: 1 },
          },
          { returnDocument: 'after', session },
        )
        .select({ version: 1 })
        .lean<{ version: number }>();
      if (tombstone === null) return null;
      await keys.releaseAll(session, id);
      return tombstone.version;
    },

    /**
     * Whether the account is alive, and stays so until the transaction ends: the account's document is written, so of
     * this transaction and an erasure one comes first, and nothing about an erased person is stored behind its back.
     */
    pin: async (session: ClientSession, id: number): Promise<boolean> => {
      const pinned = await users.updateOne({ _id: id, erased_at: null }, { $inc: { pins: 1 } }, { session });
      return pinned.matchedCount === 1;
    },
  };
};
