/** Increasing integer ids. */
import type { Connection } from 'mongoose';
import { createTickBatch } from '../kernel/tick-batch.ts';
import { jitteredDelayMs, sleep } from '../kernel/timing.ts';
import { collectionPrivacy, retain } from './privacy.ts';
import { isDuplicateKey, isWriteConflict } from './transaction.ts';

export interface Sequences {
  /**
   * The next number of the sequence `name`, from 1: larger than every number that any process got before the call. It is
   * not part of any transaction: concurrent creations do not conflict on the counter, and one that fails leaves a gap.
   * Calls in one tick of the event loop share a query.
   *
   * The order of numbers is the order of commits only for rows whose transactions write a common document before they
   * take the number, and take it again at each attempt. A number from before the transaction identifies and sorts a row,
   * and a row with a smaller one may be committed later.
   */
  next(name: string): Promise<number>;
  /** `count` consecutive numbers of the sequence `name`; see {@link Sequences.next}. */
  take(name: string, count: number): Promise<number[]>;
  /** The largest number that any process got before the call; 0 if none did. */
  last(name: string): Promise<number>;
  /** Raises the sequence so that its next number is larger than `number`. */
  skip(name: string, number: number): Promise<void>;
}

interface SequenceDocument {
  _id: string;
  value: number;
}

/** A separate collection for the audit log: the database user of operator commands can change only these numbers. */
export const AUDIT_SEQUENCES = 'audit_sequences';
type SequenceCollection = 'sequences' | typeof AUDIT_SEQUENCES;

for (const collection of ['sequences', AUDIT_SEQUENCES])
  collectionPrivacy<SequenceDocument>(collection, retain('the last number given', '_id', 'value'));

interface Request {
  count: number;
}

const ATTEMPTS = 50;

export const createSequences = (
  connection: Connection,
  collection: SequenceCollection = 'sequences',
): Sequences => {
  const counters = connection.collection<SequenceDocument>(collection);

  /** Returns the new value of the counter. */
  const increment = async (name: string, count: number): Promise<number> => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        const options = { upsert: true, returnDocument: 'after' } as const;
        const counter = await counters.findOneAndUpdate({ _id: name }, { $inc: { value: count } }, options);
        // The stand-in for MongoDB returns nothing if another process inserts the counter at the same time.
        if (counter !== null) return counter.value;
        if (attempt >= ATTEMPTS) throw new Error(`the sequence ${name} returned no number`);
      } catch (error) {
        const isRace = isWriteConflict(error) || isDuplicateKey(error);
        if (!isRace || attempt >= ATTEMPTS) throw error;
      }
      await sleep(jitteredDelayMs(attempt, 1, 20));
    }
  };

  /** Resolves with the first number of each request. */
  const openBatch = (name: string) =>
    createTickBatch(async (requests: Request[]): Promise<Map<Request, number>> => {
      const total = requests.reduce((sum, { count }) => sum + count, 0);
      let next = (await increment(name, total)) - total + 1;
      return new Map(
        requests.map((request) => {
          const first = next;
          next += request.count;
          return [request, first];
        }),
      );
    });
  const batches = new Map<string, ReturnType<typeof openBatch>>();

  const take = async (name: string, count: number): Promise<number[]> => {
    const batch = batches.get(name) ?? openBatch(name);
    batches.set(name, batch);
    const request = { count };
    const first = (await batch([request])).get(request) as number;
    return Array.from({ length: count }, (_, index) => first + index);
  };

  return {
    take,
    next: async (name) => (await take(name, 1))[0] as number,
    last: async (name) => (await counters.findOne({ _id: name }))?.value ?? 0,
    skip: async (name, number) => {
      await counters.updateOne({ _id: name }, { $max: { value: number } }, { upsert: true });
    },
  };
};
