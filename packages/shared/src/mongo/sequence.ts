/** Integer ids that grow with time. */
import type { Connection } from 'mongoose';
import { jitteredDelayMs, sleep } from './backoff.ts';
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

const ATTEMPTS = 50;
const WRITE_CONFLICT = 112;

/** Sequences kept in the collection `sequences` of the connection's database. */
export const createSequences = (connection: Connection): Sequences => {
  const counters = connection.collection<SequenceDocument>('sequences');
  const take = async (name: string): Promise<number> => {
    const counter = await counters.findOneAndUpdate(
      { _id: name },
      { $inc: { value: 1 } },
      { upsert: true, returnDocument: 'after' },
    );
    if (counter === null) throw new Error(`The sequence ${name} gave no number`);
    return counter.value;
  };
  return {
    next: async (name) => {
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await take(name);
        } catch (error) {
          // Two first callers may both try to insert the counter, and a hot counter may conflict.
          const again = isDuplicateKey(error) || (error as { code?: unknown }).code === WRITE_CONFLICT;
          if (!again || attempt >= ATTEMPTS) throw error;
          await sleep(jitteredDelayMs(attempt, 1, 20));
        }
      }
    },
  };
};
