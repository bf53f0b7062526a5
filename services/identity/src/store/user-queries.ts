/** Lists and counts of accounts. An index serves each query. */
import { createLists } from '@fitness/shared/lists/index.ts';
import type { Listed, ListKey, ListQuery, RowSearch, Slice } from '@fitness/shared/lists/list.ts';
import { type ClientSession, type Connection, trusted } from '@fitness/shared/mongo/connect.ts';
import { countMatches } from '@fitness/shared/mongo/count-matches.ts';
import type { PipelineStage } from 'mongoose';
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
  WITHOUT_INTERNAL_FIELDS,
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
/** About 100 KB of ids. */
const ID_BATCH_SIZE = 5_000;

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
/**
 * Two `$match` stages, which MongoDB treats as one. The first filters by a single indexed field, so that even simple query
 * planners use the index. It is the license document, because most accounts have none.
 */
const licensesToReview = (afterMediaId: number): PipelineStage.Match[] => [
  { $match: { trainer_license_media_id: { $gt: afterMediaId } } },
  { $match: { trainer_license_approved: null } },
];

/** Repeats the condition of its partial index. */
const RENAMED_SINCE_REVIEW: PipelineStage.Match = {
  $match: { trainer_license_reviewed_name: { $gt: '' } },
};

/** Accounts whose trainer license an operator should review. */
export const createLicenseQueries = (connection: Connection) => {
  const users = userModel(connection);
  const readWindow = async (
    stages: PipelineStage[],
    { skip, limit }: { skip: number; limit: number },
  ): Promise<User[]> => {
    const page = [{ $skip: skip }, { $limit: limit }, { $project: WITHOUT_INTERNAL_FIELDS }];
    return (await users.aggregate<User>([...stages, ...page])).map(toUser);
  };
  return {
    /** Accounts with a trainer license that has not been reviewed, oldest document first. */
    licensesToReview: (window: { skip: number; limit: number; afterMediaId: number }): Promise<User[]> =>
      readWindow(
        [...licensesToReview(window.afterMediaId), { $sort: { trainer_license_media_id: 1 } }],
        window,
      ),

    /** Accounts whose name has changed since their trainer license was reviewed, in the order of ids. */
    renamedSinceReview: (window: { skip: number; limit: number; afterId: number }): Promise<User[]> =>
      readWindow(
        [RENAMED_SINCE_REVIEW, { $match: { _id: { $gt: window.afterId } } }, { $sort: { _id: 1 } }],
        window,
      ),

    countRenamedSinceReview: (): Promise<number> => countMatches(users, [RENAMED_SINCE_REVIEW]),

    countLicensesToReview: (): Promise<number> => countMatches(users, licensesToReview(0)),
  };
};

export const createReferralQueries = (connection: Connection) => {
  const users = userModel(connection);
  return {
    /** The number of direct referrals of each user, including erased ones. Users without referrals are missing. */
    countReferralsByUser: async (ids: readonly number[]): Promise<Map<number, number>> => {
      const groups = await users.aggregate<{ _id: number; count: number }>([
        { $match: { referrer_user_id: { $in: [...ids] } } },
        { $group: { _id: '$referrer_user_id', count: { $sum: 1 } } },
      ]);
      return new Map(groups.map(({ _id, count }) => [_id, count]));
    },

    /** The number of direct referrals of all these users together, including erased ones. */
    countReferralsOfAll: (ids: readonly number[]): Promise<number> =>
      users.countDocuments({ referrer_user_id: anyOf(ids) }),

    /**
     * The ids of direct referrals of these users who have referrals themselves, including erased ones. They come in
     * batches, because one user may have a million.
     */
    referredReferrers: async function* (ids: readonly number[]): AsyncGenerator<number[]> {
      // The driver's cursor, because creating a mongoose document for each of a million ids dominates the time.
      const cursor = users.collection.aggregate(
        [
          { $match: { referrer_user_id: anyOf(ids), ...(ids.length === 1 ? HAS_REFERRALS : {}) } },
          { $match: HAS_REFERRALS },
          { $project: { _id: 1 } },
        ],
        { batchSize: ID_BATCH_SIZE },
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

const HAS_REFERRALS = { has_referrals: true };

/** Compares a single id for equality, so that the next field of the index also narrows the scan. */
const anyOf = (ids: readonly number[]) =>
  ids.length === 1 ? (ids[0] ?? NO_USER_ID) : trusted({ $in: [...ids] });
