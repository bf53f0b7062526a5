/** Ratings of gyms. A unique index allows one rating per user and gym. */
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import { erase, retain, schemaOf } from '@fitness/shared/mongo/privacy.ts';
import { deleteSome, updateSome } from '@fitness/shared/mongo/steps.ts';
import type { Connection, Model } from 'mongoose';

interface RatingDocument {
  gymId: number;
  /** Null once the account is erased: the score stays in the average of the gym. */
  userId: number | null;
  score: number;
  ratedAt: Date;
}

const ratingSchema = schemaOf<RatingDocument>(
  { collection: 'gym_ratings', versionKey: false },
  erase('the user who gave the rating', { userId: { type: Number, default: null } }),
  retain('the average of the gym stays exact', '_id', {
    gymId: { type: Number, required: true },
    score: { type: Number, required: true },
    ratedAt: { type: Date, required: true },
  }),
)
  .index({ gymId: 1, userId: 1 }, { unique: true, partialFilterExpression: { userId: { $gt: 0 } } })
  .index({ gymId: 1 })
  .index({ userId: 1 });

export interface Ratings {
  /** Stores the score of the user and returns the one that it replaces. */
  put(
    session: ClientSession,
    rating: { gymId: number; userId: number; score: number; now: Date },
  ): Promise<number | undefined>;
  /** Deletes at most `limit` ratings of a gym. Returns their number. */
  removeOfGym(session: ClientSession, gymId: number, limit: number): Promise<number>;
  /** Removes the user from at most `limit` of their ratings. Returns their number. */
  pseudonymise(session: ClientSession, userId: number, limit: number): Promise<number>;
}

export const createRatings = (connection: Connection): Ratings => {
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
    removeOfGym: (session, gymId, limit) => deleteSome(session, ratings, { gymId }, limit),
    pseudonymise: (session, userId, limit) =>
      updateSome(session, ratings, { userId }, { $set: { userId: null } }, limit),
  };
};
