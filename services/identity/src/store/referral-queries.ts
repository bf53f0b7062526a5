/** Counts of referrals, and the ids for the computation of a score (specification 2.2). */
import { type Connection, trusted } from '@fitness/shared/mongo/connect.ts';
import { NO_USER_ID } from '../domain/user.ts';
import { userModel } from './user-document.ts';

/** About 100 KB of ids. */
const ID_BATCH_SIZE = 5_000;

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
