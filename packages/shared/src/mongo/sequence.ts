/** Increasing integer ids. */
import type { Connection } from 'mongoose';
import { jitteredDelayMs, sleep } from '../kernel/timing.ts';
import { collectionPrivacy, retain } from './privacy.ts';
import { isDuplicateKey, isWriteConflict } from './transaction.ts';

export interface Sequences {
  /**
   * The next number of the sequence `name`, from 1: larger than every number that any process got before the call. Call
   * it before a transaction starts, not inside: concurrent creations would conflict on the counter. A creation that fails
   * leaves a gap. Calls during a query of the counter share the next query.
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

interface Waiter {
  count: number;
  resolve: (numbers: number[]) => void;
  reject: (error: unknown) => void;
}

const ATTEMPTS = 50;

export const createSequences = (
  connection: Connection,
  collection: SequenceCollection = 'sequences',
): Sequences => {
  const reserve = createReserve(connection, collection);
  /** Callers that wait for the next query of a sequence. */
  const waiting = new Map<string, Waiter[]>();

  const serve = async (name: string, waiters: readonly Waiter[]): Promise<void> => {
    const total = waiters.reduce((all, { count }) => all + count, 0);
    try {
      let last = (await reserve(name, total)) - total;
      for (const { count, resolve } of waiters) {
        const first = last + 1;
        last += count;
        resolve(Array.from({ length: count }, (_, index) => first + index));
      }
    } catch (error) {
      for (const { reject } of waiters) reject(error);
    }
  };

  /** Sends one query after the other until no caller waits. */
  const run = async (name: string): Promise<void> => {
    for (let batch = waiting.get(name) ?? []; batch.length > 0; batch = waiting.get(name) ?? []) {
      waiting.set(name, []);
      await serve(name, batch);
    }
    waiting.delete(name);
  };

  const take = (name: string, count: number): Promise<number[]> =>
    new Promise((resolve, reject) => {
      const waiter = { count, resolve, reject };
      const queue = waiting.get(name);
      if (queue !== undefined) {
        queue.push(waiter);
        return;
      }
      waiting.set(name, [waiter]);
      void run(name);
    });

  return {
    take,
    next: async (name) => {
      const [number] = await take(name, 1);
      return number as number;
    },
    last: async (name) =>
      (await connection.collection<SequenceDocument>(collection).findOne({ _id: name }))?.value ?? 0,
    skip: async (name, number) => {
      await connection
        .collection<SequenceDocument>(collection)
        .updateOne({ _id: name }, { $max: { value: number } }, { upsert: true });
    },
  };
};

/** Makes the function that increments a counter by `count` and returns the new value. */
const createReserve = (connection: Connection, collection: SequenceCollection) => {
  const counters = connection.collection<SequenceDocument>(collection);

  const increment = async (name: string, count: number): Promise<number | undefined> => {
    const counter = await counters.findOneAndUpdate(
      { _id: name },
      { $inc: { value: count } },
      { returnDocument: 'after' },
    );
    return counter?.value;
  };

  /** Inserts the counter. Upserts of two first callers would conflict; the second insert does nothing. */
  const create = async (name: string): Promise<void> => {
    await counters.insertOne({ _id: name, value: 0 }).catch((error: unknown) => {
      if (!isDuplicateKey(error)) throw error;
    });
  };

  return async (name: string, count: number): Promise<number> => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        const value = await increment(name, count);
        if (value !== undefined) return value;
        if (attempt >= ATTEMPTS) throw new Error(`The sequence ${name} returned no number`);
        await create(name);
      } catch (error) {
        if (!isWriteConflict(error) || attempt >= ATTEMPTS) throw error;
        await sleep(jitteredDelayMs(attempt, 1, 20));
      }
    }
  };
};
