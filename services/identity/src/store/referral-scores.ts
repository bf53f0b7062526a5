/** Cached referral scores. They are not in Redis: after a flush all scores would have to be computed at once. */
import { type ClientSession, type Connection, trusted } from '@fitness/shared/mongo/connect.ts';
import { erase, schemaOf } from '@fitness/shared/mongo/privacy.ts';
import { ignoreDuplicate } from '@fitness/shared/mongo/transaction.ts';

export interface CachedScore {
  /** The user id. */
  _id: number;
  score: number;
  computed_at: Date;
}

const schema = schemaOf<CachedScore>(
  { versionKey: false, collection: 'referral_scores' },
  erase('computed from the referrals of the account', {
    _id: Number,
    score: { type: Number, required: true },
    computed_at: { type: Date, required: true },
  }),
).index({ computed_at: 1 }, { expireAfterSeconds: 2 * 86_400 });

export type ReferralScores = ReturnType<typeof createReferralScores>;

export const createReferralScores = (connection: Connection) => {
  const scores = connection.model<CachedScore>('ReferralScore', schema);
  return {
    /** The last known scores, of any age. Users without one are missing. */
    findLast: async (ids: readonly number[]): Promise<Map<number, CachedScore>> => {
      const rows = await scores.find({ _id: trusted({ $in: [...ids] }) }).lean<CachedScore[]>();
      return new Map(rows.map((row) => [row._id, row]));
    },

    /** Either result of two concurrent writes is correct. */
    save: async (row: CachedScore): Promise<void> => {
      const { _id, ...fields } = row;
      await scores.updateOne({ _id }, { $set: fields }, { upsert: true }).catch(ignoreDuplicate);
    },

    eraseAccount: async (session: ClientSession, userId: number): Promise<void> => {
      await scores.deleteOne({ _id: userId }, { session });
    },
  };
};
