/** Lists, counts and sums over accounts; an index serves each. */
import { type ClientSession, type Connection, trusted } from '@fitness/shared/mongo/connect.ts';
import type { SearchQuery } from '../domain/search-text.ts';
import { NOBODY, type User } from '../domain/user.ts';
import { HIDDEN_FROM_READERS, LONG_AGO, userModel } from './user-document.ts';

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

/** An account whose deletion is due, and the day it is due on: what is done about it holds for that day only. */
export interface DueAccount {
  userId: number;
  scheduledAt: Date;
}

const DUE_BATCH = 100;
/** Ids in one answer of the database: some 100 KB. */
const PIECE = 5_000;

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

export const createUserQueries = (connection: Connection) => {
  const users = userModel(connection);
  return {
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

    /** A live account with one of these roles whose deletion is not pending, other than `exceptUserId`. */
    findHolder: async (
      roleIds: readonly number[],
      exceptUserId: number | undefined,
      session: ClientSession,
    ): Promise<number | undefined> => {
      const others = exceptUserId === undefined ? {} : { _id: trusted({ $ne: exceptUserId }) };
      const holder = await users
        .findOne({
          role_ids: trusted({ $in: [...roleIds] }),
          erased_at: null,
          deletion_scheduled_at: null,
          ...others,
        })
        .select({ _id: 1 })
        .session(session)
        .lean<{ _id: number }>();
      return holder?._id;
    },

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

    /** Accounts whose grace period is over at `now`, the longest waiting first; read as they are asked for. */
    dueForDeletion: async function* (now: Date): AsyncGenerator<DueAccount> {
      // Up to `now` itself: a stand-in of MongoDB leaves out what is equal to an upper bound inside a compound index.
      const tooLate = new Date(now.getTime() + 1);
      const due = users
        .find({ deletion_scheduled_at: trusted({ $gt: LONG_AGO, $lt: tooLate }), erased_at: null })
        .select({ deletion_scheduled_at: 1 })
        .sort({ deletion_scheduled_at: 1 })
        .lean<{ _id: number; deletion_scheduled_at: Date }[]>()
        .cursor({ batchSize: DUE_BATCH });
      for await (const row of due) yield { userId: row._id, scheduledAt: row.deletion_scheduled_at as Date };
    },
  };
};

export const createReferralQueries = (connection: Connection) => {
  const users = userModel(connection);
  return {
    /** Direct referrals of each, erased ones included; without an entry: none. */
    countReferrals: async (ids: readonly number[]): Promise<Map<number, number>> => {
      const groups = await users.aggregate<{ _id: number; count: number }>([
        { $match: { referrer_user_id: { $in: [...ids] } } },
        { $group: { _id: '$referrer_user_id', count: { $sum: 1 } } },
      ]);
      return new Map(groups.map(({ _id, count }) => [_id, count]));
    },

    /** Direct referrals of these all together, erased ones included. */
    countReferred: (ids: readonly number[]): Promise<number> =>
      users.countDocuments({ referrer_user_id: anyOf(ids) }),

    /**
     * The ids of those direct referrals of these who have referred others, erased ones included. A piece at a time: one
     * user may have a million.
     */
    referrersReferred: async function* (ids: readonly number[]): AsyncGenerator<number[]> {
      // By the driver: a document of mongoose for each of a million ids is what takes the time, not the reading.
      const cursor = users.collection.find({ referrer_user_id: anyOf(ids), has_referrals: true } as object, {
        projection: { _id: 1 },
        batchSize: PIECE,
      });
      try {
        while (await cursor.hasNext()) {
          yield cursor.readBufferedDocuments().map(({ _id }) => Number(_id));
        }
      } finally {
        await cursor.close();
      }
    },
  };
};

/** One is asked for by itself: after an equality every database reads the next field of the index, too, and no more. */
const anyOf = (ids: readonly number[]) =>
  ids.length === 1 ? (ids[0] ?? NOBODY) : trusted({ $in: [...ids] });
