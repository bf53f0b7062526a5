/** Integer ids that grow with time. */
import type { Connection } from 'mongoose';
import { jitteredDelayMs, sleep } from './backoff.ts';
import { collectionPrivacy, retain } from './privacy.ts';
import { isDuplicateKey } from './transaction.ts';

export interface Sequences {
  /**
   * The next number of the sequence `name`, from 1 on. Taken outside any transaction, so that concurrent creations do
   * not conflict on the counter: a creation that fails leaves a gap. Take it before the transaction starts, not inside
   * the retried callback.
   */
  next(name: string): Promise<number>;
}

interface SequenceDocument {
  _id: string;
  value: number;
}

collectionPrivacy<SequenceDocument>('sequences', retain('the last number given', '_id', 'value'));

const ATTEMPTS = 50;
const WRITE_CONFLICT = 112;

/** Sequences kept in the collection `sequences` of the connection's database. */
export const createSequences = (connection: Connection): Sequences => {
  const counters = connection.collection<SequenceDocument>('sequences');

  const increment = async (name: string): Promise<number | undefined> => {
    const counter = await counters.findOneAndUpdate(
      { _id: name },
      { $inc: { value: 1 } },
      { returnDocument: 'after' },
    );
    return counter?.value;
  };

  /** An upsert inside the increment would race with another first caller; an insert that loses has nothing to undo. */
  const create = async (name: string): Promise<void> => {
    await counters.insertOne({ _id: name, value: 0 }).catch((error: unknown) => {
      if (!isDuplicateKey(error)) throw error;
    });
  };

  return {
    next: async (name) => {
      for (let attempt = 1; ; attempt += 1) {
        try {
          const value = await increment(name);
          if (value !== undefined) return value;
          if (attempt >= ATTEMPTS) throw new Error(`The sequence ${name} gives no number`);
          await create(name);
        } catch (error) {
          const again = (error as { code?: unknown }).code === WRITE_CONFLICT && attempt < ATTEMPTS;
          if (!again) throw error;
          await sleep(jitteredDelayMs(attempt, 1, 20));
        }
      }
    },
  };
};
