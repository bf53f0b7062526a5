/** Integer ids that grow with time. */
import type { Connection } from 'mongoose';
import { jitteredDelayMs, sleep } from './backoff.ts';
import { collectionPrivacy, retain } from './privacy.ts';
import { isDuplicateKey } from './transaction.ts';

export interface Sequences {
  /**
   * The next number of the sequence `name`, from 1 on: larger than every number that was handed out before the call,
   * by whichever process. Taken outside any transaction, so that concurrent creations do not conflict on the counter:
   * a creation that fails leaves a gap. Take it before the transaction starts, not inside the retried callback.
   * Calls of one process that come while the counter is being asked share the next question.
   */
  next(name: string): Promise<number>;
  /** `count` numbers of the sequence `name`, one after the other. As {@link Sequences.next} otherwise. */
  take(name: string, count: number): Promise<number[]>;
}

interface SequenceDocument {
  _id: string;
  value: number;
}

collectionPrivacy<SequenceDocument>('sequences', retain('the last number given', '_id', 'value'));

interface Waiter {
  count: number;
  resolve: (numbers: number[]) => void;
  reject: (error: unknown) => void;
}

const ATTEMPTS = 50;
const WRITE_CONFLICT = 112;

/** Sequences kept in the collection `sequences` of the connection's database. */
export const createSequences = (connection: Connection): Sequences => {
  const reserve = createReserve(connection);
  /** Who waits for a number of each sequence that is being asked for at the moment. */
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

  /** Rounds one after the other, until nobody waits. */
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
  };
};

/** Moves a counter on by `count` and returns where it stands then. */
const createReserve = (connection: Connection) => {
  const counters = connection.collection<SequenceDocument>('sequences');

  const increment = async (name: string, count: number): Promise<number | undefined> => {
    const counter = await counters.findOneAndUpdate(
      { _id: name },
      { $inc: { value: count } },
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

  return async (name: string, count: number): Promise<number> => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        const value = await increment(name, count);
        if (value !== undefined) return value;
        if (attempt >= ATTEMPTS) throw new Error(`The sequence ${name} gives no number`);
        await create(name);
      } catch (error) {
        const again = (error as { code?: unknown }).code === WRITE_CONFLICT && attempt < ATTEMPTS;
        if (!again) throw error;
        await sleep(jitteredDelayMs(attempt, 1, 20));
      }
    }
  };
};
