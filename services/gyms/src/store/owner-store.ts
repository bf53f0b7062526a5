/**
 * One document for every account that was ever given a gym, or has rated one. Each of these and erasing the account both
 * write it, so of the two at once the database lets one go first, and nothing is left with the number of one who is gone.
 */
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import { privacy, pseudonymise, retain } from '@fitness/shared/mongo/privacy.ts';
import { isDuplicateKey } from '@fitness/shared/mongo/transaction.ts';
import { type Connection, type Model, Schema } from 'mongoose';

interface OwnerDocument {
  _id: number;
  erased: boolean;
  /** Counts the gyms given and the ratings, only to make each of them a write. */
  gifts: number;
}

const ownerSchema = new Schema<OwnerDocument>(
  {
    _id: { type: Number, required: true },
    erased: { type: Boolean, default: false },
    gifts: { type: Number, default: 0 },
  },
  { collection: 'gym_owners', versionKey: false },
);

privacy(
  ownerSchema,
  pseudonymise('the number of the account, so that nothing is written down about it any more', '_id'),
  retain('the mark itself', 'erased', 'gifts'),
);

export interface OwnerStore {
  /** Makes the document of an account; before the transaction, where two at once would undo each other. */
  prepare(userId: number): Promise<void>;
  /** In the transaction that writes something down about a prepared account; false when it is erased. */
  pin(session: ClientSession, userId: number): Promise<boolean>;
  erase(session: ClientSession, userId: number): Promise<void>;
}

export const createOwnerStore = (connection: Connection): OwnerStore => {
  const owners: Model<OwnerDocument> =
    connection.models.GymOwner ?? connection.model<OwnerDocument>('GymOwner', ownerSchema);
  return {
    prepare: async (userId) => {
      if ((await owners.exists({ _id: userId })) !== null) return;
      try {
        await owners.create({ _id: userId });
      } catch (error) {
        if (!isDuplicateKey(error)) throw error;
      }
    },
    pin: async (session, userId) => {
      const owner = await owners
        .findOneAndUpdate({ _id: userId }, { $inc: { gifts: 1 } }, { session, returnDocument: 'after' })
        .lean<OwnerDocument>();
      return owner !== null && !owner.erased;
    },
    erase: async (session, userId) => {
      await owners.updateOne({ _id: userId }, { $set: { erased: true } }, { session, upsert: true });
    },
  };
};
