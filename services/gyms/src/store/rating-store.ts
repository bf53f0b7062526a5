/** Who rated which gym how: one rating for each user and gym, by a unique index. */
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import { erase, privacy, retain } from '@fitness/shared/mongo/privacy.ts';
import { type Connection, type Model, Schema } from 'mongoose';

interface RatingDocument {
  gymId: number;
  /** Null once the account is erased: the score stays in the gym's average, who gave it is forgotten. */
  userId: number | null;
  score: number;
  ratedAt: Date;
}

const ratingSchema = new Schema<RatingDocument>(
  {
    gymId: { type: Number, required: true },
    userId: { type: Number, default: null },
    score: { type: Number, required: true },
    ratedAt: { type: Date, required: true },
  },
  { collection: 'gym_ratings', versionKey: false },
)
  .index({ gymId: 1, userId: 1 }, { unique: true, partialFilterExpression: { userId: { $gt: 0 } } })
  .index({ gymId: 1 })
  .index({ userId: 1 });

privacy(
  ratingSchema,
  erase('who gave it', 'userId'),
  retain('the average of the gym stays true', '_id', 'gymId', 'score', 'ratedAt'),
);

export interface RatingStore {
  /** Stores the user's score, instead of his earlier one; answers the earlier one. */
  put(
    session: ClientSession,
    rating: { gymId: number; userId: number; score: number; now: Date },
  ): Promise<number | undefined>;
  removeOfGym(session: ClientSession, gymId: number): Promise<void>;
  /** Forgets who gave the ratings of a user; returns how many there were. */
  pseudonymise(session: ClientSession, userId: number): Promise<number>;
}

export const createRatingStore = (connection: Connection): RatingStore => {
  const ratings: Model<RatingDocument> =
    connection.models.GymRating ?? connection.model<RatingDocument>('GymRating', ratingSchema);
  return {
    put: async (session, { gymId, userId, score, now }) => {
      const before = await ratings
        .findOneAndUpdate(
          { gymId, userId },
          { $set: { score, ratedAt: now } },
          { session, upsert: true, returnDocument: 'before' },
        )
        .lean<RatingDocument>();
      return before?.score;
    },
    removeOfGym: async (session, gymId) => {
      await ratings.deleteMany({ gymId }, { session });
    },
    pseudonymise: async (session, userId) => {
      const result = await ratings.updateMany({ userId }, { $set: { userId: null } }, { session });
      return result.modifiedCount;
    },
  };
};
