/** The stored seals of one hash chain. */
import { type Model, Schema } from 'mongoose';
import type { Seal } from '../kernel/seal.ts';
import { trusted } from './connect.ts';
import { retain, schemaOf } from './privacy.ts';
import { isDuplicateKey } from './transaction.ts';

export interface SealDocument {
  /** The number of the seal. */
  _id: number;
  previous: string;
  hash: string;
  leaves: { key: string; hash: string }[];
  sealed_at: Date;
}

const leafSchema = new Schema(
  { key: { type: String, required: true }, hash: { type: String, required: true } },
  { _id: false },
);

export const sealSchemaOf = (collection: string, reason: string) =>
  schemaOf<SealDocument>(
    { collection, versionKey: false, nested: { leaves: [leafSchema] } },
    retain(
      reason,
      {
        _id: { type: Number, required: true },
        previous: { type: String, required: true },
        hash: { type: String, required: true },
      },
      'leaves.key',
      'leaves.hash',
      { sealed_at: { type: Date, required: true } },
    ),
  );

export interface Seals {
  /** Creates the collection; required before the first seal. */
  prepare(): Promise<void>;
  /** The newest seal with number `from` or higher. Reads all seals from `from` on; 0 finds the newest directly. */
  newest(from: number): Promise<Seal | undefined>;
  /** False when another process has written a seal with this number. */
  append(seal: Seal): Promise<boolean>;
  /** The seals after `number`, in order. */
  after(number: number, limit: number): Promise<Seal[]>;
}

const fromDocument = (document: SealDocument): Seal => ({
  number: document._id,
  previous: document.previous,
  hash: document.hash,
  leaves: document.leaves.map(({ key, hash }) => ({ key, hash })),
  sealedAt: document.sealed_at,
});

/**
 * Seals per query on the way to the newest one. They are read by number: for a range, some databases ignore the limit and
 * read the whole chain.
 */
const WINDOW = 20;

export const createSeals = (seals: Model<SealDocument>): Seals => {
  const read = async (query: Record<string, unknown>, order: 1 | -1, limit: number): Promise<Seal[]> => {
    const documents = await seals.find(query).sort({ _id: order }).limit(limit).lean<SealDocument[]>();
    return documents.map(fromDocument);
  };
  return {
    prepare: async () => {
      await seals.createCollection();
    },
    newest: async (from) => {
      if (from === 0) return (await read({}, -1, 1))[0];
      let newest: Seal | undefined;
      for (let next = from; ; next += WINDOW) {
        const numbers = Array.from({ length: WINDOW }, (_, index) => next + index);
        const last = (await read({ _id: trusted({ $in: numbers }) }, 1, WINDOW)).at(-1);
        newest = last ?? newest;
        if (last?.number !== numbers.at(-1)) return newest;
      }
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
    after: (number, limit) => read({ _id: trusted({ $gt: number }) }, 1, limit),
  };
};
