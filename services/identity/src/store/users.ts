/** Accounts. Reads return only live accounts, unless a method says otherwise. */
import { createTickBatch } from '@fitness/shared/kernel/tick-batch.ts';
import { createRowTexts } from '@fitness/shared/lists/texts.ts';
import { COMMAND_MAX_MS } from '@fitness/shared/mongo/command-rules.ts';
import { type ClientSession, type Connection, trusted } from '@fitness/shared/mongo/connect.ts';
import { inTransaction, isDuplicateKey } from '@fitness/shared/mongo/transaction.ts';
import { LOGIN_FIELDS, type LoginField, loginKey, loginKeysOf } from '../domain/login.ts';
import { type SearchedFields, searchGrams } from '../domain/search-text.ts';
import { NO_USER_ID, type User } from '../domain/user.ts';
import { createLoginKeys, type FoundKey, type LoginKeys, TakenError } from './login-keys.ts';
import type { Revocations } from './revocations.ts';
import { createDeletionSchedule, createErasure } from './user-deletion.ts';
import {
  createFindOne,
  isPersonalUserField,
  liveOrNull,
  OLDER_INDEXES,
  OLDER_TEXTS,
  type StoredUser,
  userModel,
  userTextModel,
  WITH_ERASED_AT,
} from './user-document.ts';
import {
  createLicenseQueries,
  createReferralQueries,
  createRoleQueries,
  createStandingQueries,
  createUserQueries,
} from './user-queries.ts';
import { createWrites } from './user-writes.ts';

export type { DueAccount, UserFilter } from './user-queries.ts';
export type { NewUser } from './user-writes.ts';

/** An account, with the username, email or phone by which it was found. */
export interface FoundLogin {
  user: User;
  key: FoundKey;
}

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
    ...createDeletionSchedule(connection),
    ...createErasure(connection, keys, texts, revocations),
    ...createUserQueries(connection),
    ...createLicenseQueries(connection),
    ...createRoleQueries(connection),
    ...createStandingQueries(connection),
    ...createReferralQueries(connection),
  };
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
