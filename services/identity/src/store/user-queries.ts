/** Lists and counts of accounts. An index serves each query. */
import { createLists } from '@fitness/shared/lists/index.ts';
import type { Listed, ListKey, ListQuery, RowSearch, Slice } from '@fitness/shared/lists/list.ts';
import { type ClientSession, type Connection, trusted } from '@fitness/shared/mongo/connect.ts';
import type { UserSearch } from '../domain/search-text.ts';
import { NO_USER_ID, type User } from '../domain/user.ts';
import {
  EPOCH,
  OLDER_TEXTS,
  type Standing,
  type StoredUser,
  toUser,
  userModel,
  userTextModel,
} from './user-document.ts';

export interface UserFilter {
  search?: UserSearch | undefined;
  isTrainer?: boolean | undefined;
  roleId?: number | undefined;
  standings: readonly Extract<Standing, 'live' | 'pending'>[];
}

export interface DueAccount {
  userId: number;
  /** Writes to the account apply only while its deletion is scheduled for this date. */
  scheduledAt: Date;
}

const DUE_BATCH_SIZE = 100;

const keysOf = ({ standings, isTrainer, roleId }: UserFilter): ListKey[] => {
  if (roleId !== undefined) return [{ role_ids: roleId }];
  const trainer = isTrainer === undefined ? {} : { is_trainer: isTrainer };
  return standings.map((standing) => ({ standing, ...trainer }));
};

/** Filters by what the list key of a role does not contain. */
const acceptOf = ({ standings, isTrainer, roleId }: UserFilter): ListQuery['accept'] => {
  if (roleId === undefined) return undefined;
  const accepted: readonly unknown[] = standings;
  return ({ standing, is_trainer }) =>
    accepted.includes(standing) && (isTrainer === undefined || is_trainer === isTrainer);
};

export const createUserQueries = (connection: Connection) => {
  const users = userModel(connection);
  // Without a cache: every write to an account, even by a sign-in, would also have to write a version of the lists.
  const lists = createLists(users.collection, {
    grams: userTextModel(connection).collection,
    texts: [],
    hiddenFields: OLDER_TEXTS,
  });
  return {
    list: async (
      filter: UserFilter,
      size: Pick<ListQuery, 'total' | 'newest'>,
      slice: Slice,
    ): Promise<Omit<Listed, 'rows'> & { rows: User[] }> => {
      const search = filter.search as RowSearch | undefined;
      const query = { ...size, keys: keysOf(filter), accept: acceptOf(filter), search };
      const listed = await lists.read(query, slice);
      return { ...listed, rows: listed.rows.map((row) => toUser(row as unknown as User)) };
    },

    /** Counts the accounts of a list, ignoring the search. */
    count: async ({ standings, isTrainer, roleId }: UserFilter): Promise<number> => {
      const standing = { standing: { $in: [...standings] } };
      const trainer = isTrainer === undefined ? {} : { is_trainer: isTrainer };
      const [indexed, rest] =
        roleId === undefined ? [standing, trainer] : [{ role_ids: roleId }, { ...standing, ...trainer }];
      // Grouped by an indexed field: the index covers the query.
      const groups = await users.aggregate<{ total: number }>([
        { $match: indexed },
        { $match: rest },
        { $group: { _id: '$standing', total: { $sum: 1 } } },
      ]);
      return groups.reduce((sum, one) => sum + one.total, 0);
    },

    /** Number of accounts, including erased ones, from the collection's metadata. It may be inexact after a crash. */
    estimate: (): Promise<number> => users.estimatedDocumentCount(),
  };
};

export const createRoleQueries = (connection: Connection) => {
  const users = userModel(connection);
  return {
    /** Whether a live account has this role. Erased accounts have no roles. */
    isRoleAssigned: async (roleId: number): Promise<boolean> =>
      (await users.exists({ role_ids: roleId })) !== null,

    /** A live account other than `exceptUserId` that has one of these roles and no pending deletion. */
    findHolder: async (
      roleIds: readonly number[],
      exceptUserId: number | undefined,
      session: ClientSession,
    ): Promise<number | undefined> => {
      const others = exceptUserId === undefined ? {} : { _id: { $ne: exceptUserId } };
      const [holder] = await users
        .aggregate<{ _id: number }>([
          { $match: { role_ids: { $in: [...roleIds] } } },
          { $match: { erased_at: null, deletion_scheduled_at: null, ...others } },
          { $limit: 1 },
          { $project: { _id: 1 } },
        ])
        .session(session);
      return holder?._id;
    },
  };
};

/** Accounts by their standing: live, with a pending deletion, or erased. */
export const createStandingQueries = (connection: Connection) => {
  const users = userModel(connection);
  return {
    /** Returns which of these ids have a pending deletion, and which are erased or unknown. */
    partitionHidden: async (ids: readonly number[]): Promise<{ pending: number[]; gone: number[] }> => {
      const rows = await users
        .find({ _id: trusted({ $in: [...ids] }) })
        .select({ erased_at: 1, deletion_scheduled_at: 1 })
        .lean<Pick<StoredUser, '_id' | 'erased_at' | 'deletion_scheduled_at'>[]>();
      const live = rows.filter(({ erased_at }) => erased_at === null);
      const liveIds = new Set(live.map((user) => user._id));
      return {
        pending: live.filter((user) => user.deletion_scheduled_at !== null).map((user) => user._id),
        gone: [...new Set(ids)].filter((id) => !liveIds.has(id)),
      };
    },

    /** Ids of accounts that are not erased, in batches of at most `size`. */
    liveIds: async function* (size: number): AsyncGenerator<number[]> {
      for (let after = NO_USER_ID; ; ) {
        const rows = await users
          .find({ _id: trusted({ $gt: after }), erased_at: null })
          .select({ _id: 1 })
          .sort({ _id: 1 })
          .limit(size)
          .lean<{ _id: number }[]>();
        const last = rows.at(-1);
        if (last === undefined) return;
        yield rows.map(({ _id }) => _id);
        after = last._id;
      }
    },

    /** Accounts whose grace period has ended at `now`, earliest first, streamed from a cursor. */
    dueForDeletion: async function* (now: Date): AsyncGenerator<DueAccount> {
      const due = users
        // Erased accounts have no scheduled deletion.
        .find({ deletion_scheduled_at: trusted({ $gt: EPOCH, $lte: now }) })
        .select({ deletion_scheduled_at: 1 })
        .sort({ deletion_scheduled_at: 1 })
        .lean<{ _id: number; deletion_scheduled_at: Date }[]>()
        .cursor({ batchSize: DUE_BATCH_SIZE });
      for await (const row of due) yield { userId: row._id, scheduledAt: row.deletion_scheduled_at };
    },
  };
};
