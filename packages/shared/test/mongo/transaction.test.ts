import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import mongoose, { type Model } from 'mongoose';
import { pingMongo, trusted } from '../../src/mongo/connect.ts';
import { ensureIndexes } from '../../src/mongo/indexes.ts';
import { createSequences } from '../../src/mongo/sequence.ts';
import { afterCommit, beforeCommit, inTransaction, isDuplicateKey } from '../../src/mongo/transaction.ts';
import { dropDatabase, openDatabase, until } from '../messaging/support.ts';

type Connection = Awaited<ReturnType<typeof openDatabase>>;
interface Counter {
  _id: string;
  value: number;
}
interface Person {
  email: string;
  nickname: string;
}

let connection: Connection;
let counters: Model<Counter>;
let people: Model<Person>;

beforeAll(async () => {
  connection = await openDatabase();
  counters = connection.model<Counter>(
    'Counter',
    new mongoose.Schema<Counter>({ _id: String, value: Number }, { versionKey: false }),
  );
  people = connection.model<Person>(
    'Person',
    new mongoose.Schema<Person>({ email: String, nickname: String })
      .index({ email: 1 }, { unique: true, name: 'one_email' })
      .index({ nickname: 1 }, { unique: true, sparse: true }),
  );
  await ensureIndexes(connection);
});

afterAll(() => dropDatabase(connection));

describe('inTransaction', () => {
  test('twenty workers on one document lose no increment, and each hook runs once', async () => {
    await counters.create({ _id: 'contended', value: 0 });
    let hooks = 0;
    let runs = 0;
    const increment = () =>
      inTransaction(
        connection,
        async (session) => {
          runs += 1;
          afterCommit(session, () => {
            hooks += 1;
          });
          const counter = await counters.findById('contended').session(session).orFail();
          counter.value += 1;
          await counter.save({ session });
        },
        { deadlineMs: 30_000 },
      );
    const worker = async () => {
      for (let round = 0; round < 2; round += 1) await increment();
    };
    await Promise.all(Array.from({ length: 20 }, worker));
    const counter = await counters.findById('contended').lean().orFail();
    expect(counter.value).toBe(40);
    expect(hooks).toBe(40);
    expect(runs).toBeGreaterThan(40);
  });

  test('a failing callback stores nothing, runs no hook, and its error is thrown', async () => {
    let hooked = false;
    const failing = inTransaction(connection, async (session) => {
      afterCommit(session, () => {
        hooked = true;
      });
      await counters.create([{ _id: 'aborted', value: 1 }], { session });
      throw new Error('changed my mind');
    });
    await expect(failing).rejects.toThrow('changed my mind');
    expect(await counters.exists({ _id: 'aborted' })).toBeNull();
    expect(hooked).toBe(false);
  });

  test('a failing hook neither undoes nor fails the commit', async () => {
    const result = await inTransaction(connection, async (session) => {
      afterCommit(session, () => {
        throw new Error('hook');
      });
      await counters.create([{ _id: 'hooked', value: 1 }], { session });
      return 'done';
    });
    expect(result).toBe('done');
    expect(await counters.exists({ _id: 'hooked' })).not.toBeNull();
  });

  test('afterCommit refuses a session that is not from inTransaction', async () => {
    const session = await connection.startSession();
    expect(() => afterCommit(session, () => undefined)).toThrow('inTransaction');
    await session.endSession();
  });

  test('a transaction gives up at its deadline if the conflict lasts', async () => {
    await counters.create({ _id: 'held', value: 0 });
    const holder = await connection.startSession();
    holder.startTransaction();
    await counters.updateOne({ _id: 'held' }, { $inc: { value: 1 } }, { session: holder });
    const startedAt = performance.now();
    const blocked = inTransaction(
      connection,
      (session) => counters.updateOne({ _id: 'held' }, { $inc: { value: 1 } }, { session }),
      { deadlineMs: 300 },
    );
    await expect(blocked).rejects.toMatchObject({ kind: 'unavailable', cause: { code: 112 } });
    expect(performance.now() - startedAt).toBeLessThan(5_000);
    await holder.abortTransaction();
    await holder.endSession();
  });
});

describe('isDuplicateKey', () => {
  test('a duplicate key error names the unique index, inside a transaction and outside', async () => {
    await people.create({ email: 'a@example.com', nickname: 'a' });
    const outside = await people
      .create({ email: 'a@example.com', nickname: 'b' })
      .catch((error: unknown) => error);
    const inside = await inTransaction(connection, (session) =>
      people.create([{ email: 'c@example.com', nickname: 'a' }], { session }),
    ).catch((error: unknown) => error);
    expect(isDuplicateKey(outside)).toBe(true);
    expect(isDuplicateKey(outside, 'email')).toBe(true);
    expect(isDuplicateKey(outside, 'one_email')).toBe(true);
    expect(isDuplicateKey(outside, 'nickname')).toBe(false);
    expect(isDuplicateKey(inside, 'nickname')).toBe(true);
    expect(isDuplicateKey(inside, 'email')).toBe(false);
    expect(isDuplicateKey(new Error('x', { cause: outside }), 'email')).toBe(true);
    expect(isDuplicateKey(new Error('E11000'))).toBe(false);
    expect(isDuplicateKey(undefined)).toBe(false);
  });
});

describe('createSequences', () => {
  test('200 concurrent callers get 200 different numbers without a gap', async () => {
    const sequences = createSequences(connection);
    const numbers = await Promise.all(Array.from({ length: 200 }, () => sequences.next('orders')));
    expect(numbers.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 200 }, (_, index) => index + 1));
    expect(await sequences.next('orders')).toBe(201);
    expect(await sequences.next('invoices')).toBe(1);
  });

  test('callers during a query of the counter share the next query', async () => {
    const sequences = createSequences(connection);
    const counters = connection.collection<{ _id: string; value: number }>('sequences');
    const spy = jest.spyOn(counters, 'findOneAndUpdate');
    await Promise.all(Array.from({ length: 50 }, () => sequences.next('shared')));
    // The first call creates the counter; the other forty-nine share one query.
    expect(spy.mock.calls.length).toBeLessThanOrEqual(3);
    spy.mockRestore();
  });

  test('concurrent blocks of two processes are disjoint, and each is without a gap', async () => {
    const processes = [createSequences(connection), createSequences(connection)];
    const blocks = await Promise.all(
      Array.from({ length: 40 }, (_, index) => processes[index % 2]!.take('blocks', (index % 4) + 1)),
    );
    for (const block of blocks)
      expect(block).toEqual(Array.from(block, (_, index) => (block[0] ?? 0) + index));
    expect(new Set(blocks.flat()).size).toBe(100);
  });

  test('a number is larger than every number of an earlier call', async () => {
    const processes = [createSequences(connection), createSequences(connection)];
    const numbers = new Set<number>();
    let largest = 0;
    await Promise.all(
      Array.from({ length: 20 }, async (_, caller) => {
        for (let round = 0; round < 10; round += 1) {
          const before = largest;
          const number = await processes[caller % 2]!.next('ordered');
          expect(number).toBeGreaterThan(before);
          numbers.add(number);
          largest = Math.max(largest, number);
        }
      }),
    );
    expect(numbers.size).toBe(200);
  });

  test('a failing query rejects its callers, and the next one succeeds', async () => {
    const sequences = createSequences(connection);
    const counters = connection.collection<{ _id: string; value: number }>('sequences');
    const broken = jest.spyOn(counters, 'findOneAndUpdate').mockRejectedValueOnce(new Error('gone') as never);
    await expect(Promise.all([sequences.next('broken'), sequences.next('other')])).rejects.toThrow('gone');
    broken.mockRestore();
    expect(await sequences.next('broken')).toBe(1);
  });
});

describe('beforeCommit', () => {
  test('beforeCommit runs last inside the transaction, once per attempt, and an error aborts it', async () => {
    await counters.create({ _id: 'last', value: 0 });
    const steps: string[] = [];
    await inTransaction(connection, async (session) => {
      beforeCommit(session, async () => {
        steps.push('before commit');
        await counters.updateOne({ _id: 'last' }, { $inc: { value: 1 } }, { session });
      });
      steps.push('work');
    });
    expect(steps).toEqual(['work', 'before commit']);
    expect((await counters.findById('last').lean())?.value).toBe(1);
    const aborted = inTransaction(connection, async (session) => {
      await counters.updateOne({ _id: 'last' }, { $inc: { value: 1 } }, { session });
      beforeCommit(session, async () => {
        throw new Error('no');
      });
    });
    await expect(aborted).rejects.toThrow('no');
    expect((await counters.findById('last').lean())?.value).toBe(1);
  });

  test('beforeCommit refuses a session that is not from inTransaction', async () => {
    const session = await connection.startSession();
    expect(() => beforeCommit(session, async () => undefined)).toThrow('inTransaction');
    await session.endSession();
  });
});

describe('connectMongo', () => {
  test('an operator in client input is compared as a value', async () => {
    await counters.create({ _id: 'guarded', value: 5 });
    const injected: unknown = { $gte: 0 };
    const search = counters.find({ value: injected as number }).lean();
    await expect(search).rejects.toMatchObject({ name: 'CastError' });
    expect(await counters.countDocuments({ _id: 'guarded', value: trusted({ $gte: 0 }) })).toBe(1);
  });

  test('a filter refuses fields that the schema lacks', async () => {
    const search = counters.find({ _id: 'guarded', unknown: 1 } as object);
    await search.lean();
    expect(search.getFilter()).toEqual({ _id: 'guarded' });
  });

  test('pingMongo resolves while the database responds and rejects once it is closed', async () => {
    const other = await openDatabase();
    await pingMongo(other);
    await dropDatabase(other);
    await expect(pingMongo(other)).rejects.toThrow();
    await until(() => other.readyState === 0);
  });
});
