/**
 * The seals of the ledger, in a database of their own: who can change the ledger by hand cannot, with that alone,
 * change what it is compared with.
 */
import { type Connection, trusted } from '@fitness/shared/mongo/connect.ts';
import { privacy, retain } from '@fitness/shared/mongo/privacy.ts';
import { isDuplicateKey } from '@fitness/shared/mongo/transaction.ts';
import { type Model, Schema } from 'mongoose';
import type { Seal } from '../domain/seal.ts';

interface SealDocument {
  /** The number. */
  _id: number;
  previous: string;
  hash: string;
  leaves: { key: string; hash: string }[];
  sealed_at: Date;
}

const sealSchema = new Schema<SealDocument>(
  {
    _id: { type: Number, required: true },
    previous: { type: String, required: true },
    hash: { type: String, required: true },
    leaves: [
      new Schema(
        { key: { type: String, required: true }, hash: { type: String, required: true } },
        { _id: false },
      ),
    ],
    sealed_at: { type: Date, required: true },
  },
  { collection: 'ledger_seals', versionKey: false },
);

privacy(
  sealSchema,
  retain(
    'what the ledger is compared with',
    '_id',
    'previous',
    'hash',
    'leaves.key',
    'leaves.hash',
    'sealed_at',
  ),
);

export interface Seals {
  /** Makes the collection; await it before the first seal. */
  prepare(): Promise<void>;
  /** The newest, if its number is `from` or a larger one. Name a number that is near it: the way there is walked. */
  last(from: number): Promise<Seal | undefined>;
  /** False when another process has written a seal of this number. */
  append(seal: Seal): Promise<boolean>;
  /** In the order of their numbers, from the one after `number` on. */
  after(number: number, limit: number): Promise<Seal[]>;
}

const toSeal = (found: SealDocument): Seal => ({
  number: found._id,
  previous: found.previous,
  hash: found.hash,
  leaves: found.leaves.map(({ key, hash }) => ({ key, hash })),
  sealedAt: found.sealed_at,
});

/** Over a connection to the database of the seals. */
export const createSeals = (connection: Connection): Seals => {
  const seals: Model<SealDocument> =
    connection.models.LedgerSeal ?? connection.model<SealDocument>('LedgerSeal', sealSchema);
  return {
    prepare: async () => {
      await seals.createCollection();
    },
    last: async (from) => {
      const found = await seals
        .findOne({ _id: trusted({ $gte: from }) })
        .sort({ _id: -1 })
        .lean<SealDocument>();
      return found === null ? undefined : toSeal(found);
    },
    append: async ({ number, previous, hash, leaves, sealedAt }) => {
      const document: SealDocument = {
        _id: number,
        previous,
        hash,
        leaves: [...leaves],
        sealed_at: sealedAt,
      };
      try {
        await seals.collection.insertOne(document as never, { writeConcern: { w: 'majority' } });
        return true;
      } catch (error) {
        if (!isDuplicateKey(error)) throw error;
        return false;
      }
    },
    after: async (number, limit) => {
      const found = await seals
        .find({ _id: trusted({ $gt: number }) })
        .sort({ _id: 1 })
        .limit(limit)
        .lean<SealDocument[]>();
      return found.map(toSeal);
    },
  };
};
