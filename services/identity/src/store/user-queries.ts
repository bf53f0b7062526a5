/** Lists, counts and sums over accounts; an index serves each. */
import { type ClientSession, type Connection, trusted } from '@fitness/shared/mongo/connect.ts';
import { COUNTED_MAX } from '@fitness/shared/mongo/list-reader.ts';
import type { PipelineStage } from 'mongoose';
import type { SearchQuery } from '../domain/search-text.ts';
import { NOBODY, type User } from '../domain/user.ts';
import { HIDDEN_FROM_READERS, LONG_AGO, type Standing, type StoredUser, userModel } from './user-document.ts';

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

const EITHER = [true, false];

/**
 * Two stages, which MongoDB reads as one condition. The first is about one indexed field: a database whose planner uses
 * an index for nothing else still does not scan. Every value of what is not filtered by is named: with each combination
 * of them an index is in the order of the ids.
 */
const toStages = (filter: UserFilter): [PipelineStage.Match, PipelineStage.Match] => {
  const { search, isTrainer, roleId } = filter;
  const shown: Standing[] = filter.withPending ? ['live', 'pending'] : ['live'];
  const standing = { standing: { $in: shown } };
  const rest = { is_trainer: { $in: isTrainer === undefined ? EITHER : [isTrainer] } };
  const role = roleId === undefined ? undefined : { role_ids: roleId };
  if (search === undefined)
    return role === undefined
      ? [{ $match: standing }, { $match: rest }]
      : [{ $match: role }, { $match: { ...standing, ...rest } }];
  const [grams, text] = filter.searchEverything
    ? ['search_all_grams', '$search_all_text']
    : ['search_grams', '$search_text'];
  const [first, ...others] = search.grams;
  const holds = search.texts.map((wanted) => ({ $gte: [{ $indexOfCP: [text, { $literal: wanted }] }, 0] }));
  const more = others.length === 0 ? {} : { [grams]: { $all: others } };
  return [
    { $match: { [grams]: first } },
    { $match: { ...standing, ...rest, ...role, ...more, $expr: { $or: holds } } },
  ];
};

export const createUserQueries = (connection: Connection) => {
  const users = userModel(connection);
  return {
    list: (filter: UserFilter, window: UserWindow): Promise<User[]> => {
      const { afterId } = window;
      const [indexed, rest] = toStages(filter);
      const behind = afterId === undefined ? {} : { _id: { [filter.ascending ? '$gt' : '$lt']: afterId } };
      return users.aggregate<User>([
        indexed,
        { $match: { ...rest.$match, ...behind } },
        { $sort: { _id: filter.ascending ? 1 : -1 } },
        { $skip: window.skip },
        { $limit: window.limit },
        { $project: HIDDEN_FROM_READERS },
      ]);
    },

    /** Undefined where a search finds more than {@link COUNTED_MAX}. */
    count: async (filter: UserFilter): Promise<number | undefined> => {
      const most = filter.search === undefined ? [] : [{ $limit: COUNTED_MAX + 1 }];
      // By a field of the index: no account is read for it.
      const each = { $group: { _id: '$standing', total: { $sum: 1 } } };
      const groups = await users.aggregate<{ total: number }>([...toStages(filter), ...most, each]);
      const total = groups.reduce((sum, group) => sum + group.total, 0);
      return filter.search !== undefined && total > COUNTED_MAX ? undefined : total;
    },

    /** Whether a live account has this role. */
    someoneHasRole: async (roleId: number): Promise<boolean> =>
      // An erased one has none.
      (await users.exists({ role_ids: roleId })) !== null,

    /** A live account with one of these roles whose deletion is not pending, other than `exceptUserId`. */
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

    /** Of these ids: whose deletion is pending, and which are erased or never were. */
    partitionHidden: async (ids: readonly number[]): Promise<{ pending: number[]; gone: number[] }> => {
      const found = await users
        .find({ _id: trusted({ $in: [...ids] }) })
        .select({ erased_at: 1, deletion_scheduled_at: 1 })
        .lean<Pick<StoredUser, '_id' | 'erased_at' | 'deletion_scheduled_at'>[]>();
      const alive = found.filter(({ erased_at }) => erased_at === null);
      const known = new Set(alive.map((user) => user._id));
      return {
        pending: alive.filter((user) => user.deletion_scheduled_at !== null).map((user) => user._id),
        gone: [...new Set(ids)].filter((id) => !known.has(id)),
      };
    },

    /** Accounts whose grace period is over at `now`, the longest waiting first; read as they are asked for. */
    dueForDeletion: async function* (now: Date): AsyncGenerator<DueAccount> {
      const due = users
        // An erased one has no such day.
        .find({ deletion_scheduled_at: trusted({ $gt: LONG_AGO, $lte: now }) })
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
      const cursor = users.collection.aggregate(
        [
          { $match: { referrer_user_id: anyOf(ids), ...(ids.length === 1 ? REFERS : {}) } },
          { $match: REFERS },
          { $project: { _id: 1 } },
        ],
        { batchSize: PIECE },
      );
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

const REFERS = { has_referrals: true };

/** One is asked for by itself: after an equality every database reads the next field of the index, too, and no more. */
const anyOf = (ids: readonly number[]) =>
  ids.length === 1 ? (ids[0] ?? NOBODY) : trusted({ $in: [...ids] });
