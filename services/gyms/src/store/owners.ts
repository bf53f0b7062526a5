/**
 * One document for every account that was ever given a gym or has rated one. These writes and the erasure of the account all write
 * this document, so concurrent ones conflict. Nothing is stored with the id of an erased account.
 */
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import { pseudonymise, retain, schemaOf } from '@fitness/shared/mongo/privacy.ts';
import { ignoreDuplicate } from '@fitness/shared/mongo/transaction.ts';
import type { Connection, Model } from 'mongoose';

interface OwnerDocument {
  _id: number;
  erased: boolean;
  /** Increased by `lockUnlessErased`, only to make it a write. */
  gifts: number;
}

const ownerSchema = schemaOf<OwnerDocument>(
  { collection: 'gym_owners', versionKey: false },
  pseudonymise('the id of the account, kept to store nothing more about it', {
    _id: { type: Number, required: true },
  }),
  retain('the mark that the account is erased', {
    erased: { type: Boolean, default: false },
    gifts: { type: Number, default: 0 },
  }),
);

export interface Owners {
  /** Creates the document of an account unless it exists. Runs outside of a transaction: there, concurrent creations would abort one of them. */
  ensureExists(userId: number): Promise<void>;
  /** Runs in the transaction that stores something about an account whose document exists. False when the account is erased. */
  lockUnlessErased(session: ClientSession, userId: number): Promise<boolean>;
  markErased(session: ClientSession, userId: number): Promise<void>;
}

export const createOwners = (connection: Connection): Owners => {
  const owners: Model<OwnerDocument> =
    connection.models.GymOwner ?? connection.model<OwnerDocument>('GymOwner', ownerSchema);
  return {
    ensureExists: async (userId) => {
      if ((await owners.exists({ _id: userId })) !== null) return;
      await owners.create({ _id: userId }).catch(ignoreDuplicate);
    },
    lockUnlessErased: async (session, userId) => {
      const owner = await owners
        .findOneAndUpdate({ _id: userId }, { $inc: { gifts: 1 } }, { session, returnDocument: 'after' })
        .lean<OwnerDocument>();
      return owner !== null && !owner.erased;
    },
    markErased: async (session, userId) => {
      await owners.updateOne({ _id: userId }, { $set: { erased: true } }, { session, upsert: true });
    },
  };
};
