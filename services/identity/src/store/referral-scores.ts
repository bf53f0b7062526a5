/**
 * Computed referral scores. Kept with the data they were computed from and not in Redis: a score that a flush throws
 * away would have to be computed on the next request of everyone at once.
 */
import { type ClientSession, type Connection, trusted } from '@fitness/shared/mongo/connect.ts';
import { erase, privacy } from '@fitness/shared/mongo/privacy.ts';
import { isDuplicateKey } from '@fitness/shared/mongo/transaction.ts';
import mongoose from 'mongoose';

export interface CachedScore {
  /** The user. */
  _id: number;
  score: number;
  computed_at: Date;
}

const schema = new mongoose.Schema<CachedScore>(
  { _id: Number, score: { type: Number, required: true }, computed_at: { type: Date, required: true } },
  { versionKey: false, collection: 'referral_scores' },
).index({ computed_at: 1 }, { expireAfterSeconds: 2 * 86_400 });

privacy(schema, erase('a number about the account', '_id', 'score', 'computed_at'));

export type ReferralScoreStore = ReturnType<typeof createReferralScoreStore>;

export const createReferralScoreStore = (connection: Connection) => {
  const scores = connection.model<CachedScore>('ReferralScore', schema);
  return {
    /** The last known of each, however old; without an entry: none. */
    findLast: async (ids: readonly number[]): Promise<Map<number, CachedScore>> => {
      const found = await scores.find({ _id: trusted({ $in: [...ids] }) }).lean<CachedScore[]>();
      return new Map(found.map((row) => [row._id, row]));
    },

    /** Two that compute the same at once: either result is right. */
    save: async (row: CachedScore): Promise<void> => {
      const { _id, ...fields } = row;
      await scores.updateOne({ _id }, { $set: fields }, { upsert: true }).catch((error: unknown) => {
        if (!isDuplicateKey(error)) throw error;
      });
    },

    forget: async (session: ClientSession, userId: number): Promise<void> => {
      await scores.deleteOne({ _id: userId }, { session });
    },
  };
};
