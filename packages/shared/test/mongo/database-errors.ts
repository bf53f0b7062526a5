/**
 * What follows from each error of MongoDB that is no mistake of the command: the response to the client, how often
 * the command was sent, and whether the try of a consumer counts. The real driver and the real service run on a proxy
 * that responds in the place of the database. database-errors.test.ts has some of the rows, database-errors.long.test.ts all.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import mongoose, { type Connection, type Model } from 'mongoose';
import { z } from 'zod';
import { created, defineRoute } from '../../src/http/define-route.ts';
import { MINUTE_MS, systemClock } from '../../src/kernel/clock.ts';
import { createLog } from '../../src/kernel/log.ts';
import { isNotSent } from '../../src/kernel/outage.ts';
import { decideRetry } from '../../src/messaging/retry.ts';
import { HEADER } from '../../src/messaging/topology.ts';
import { connectMongo } from '../../src/mongo/connect.ts';
import { inTransaction, isOutcomeUnknown } from '../../src/mongo/transaction.ts';
import type { RunningService } from '../../src/runtime/serve.ts';
import { createServiceRuntime } from '../../src/runtime/service-runtime.ts';
import { type Answer, apiClient, dropDatabase, eventually, testConfig } from '../../src/testing/harness.ts';
import { type MongoProxy, startMongoProxy } from '../../src/testing/mongo-proxy.ts';
import { orderPlaced } from '../messaging/support.ts';

/** Outside of a transaction: `find`, `insert` and `updateMany`. In one: its insert (`statement`), and `commit`. */
type Place = 'find' | 'insert' | 'updateMany' | 'statement' | 'commit';
/** A 503, after which nothing is changed; or one with `outcome_unknown`. */
type Outcome = '503' | 'unknown';
/** How often the command is sent while the error lasts; `many`: again and again until the deadline. */
type Tries = 1 | 2 | 3 | 'many';
type Consequence = `${Outcome} ${Tries}`;
/** Whether the try of a consumer counts towards the dead-letter queue: for a statement, and for the commit. */
type Counts = 'counts' | 'does not count';

const OVERLOADED = ['SystemOverloadedError'];
export const REJECTED = ['SystemOverloadedError', 'RetryableError'];

/**
 * Codes, names and categories: `src/mongo/base/error_codes.yml` of the server (8.3). Labels: `src/mongo/db/error_labels.cpp`
 * gives an error of the category RetriableError the label TransientTransactionError at a statement, and RetryableWriteError
 * at a commit (and at a retryable write, which the driver does not send here). REJECTED: `client-backpressure.md` of the
 * drivers' specifications, which says that a command with these labels was not executed. Twice at a find: the driver repeats
 * reads of these codes once (`retryable-reads.md`). The driver does not repeat an insert here. By default it does, and then
 * every outcome is unknown (see below).
 */
type Row = [
  number,
  string,
  'retriable' | 'plain' | typeof OVERLOADED,
  Record<Place, Consequence>,
  [Counts, Counts],
];

export const TABLE: Row[] = [
  // Time limits and interruptions: category Interruption or ExceededTimeLimitError. A part of the work may be done.
  [
    50,
    'MaxTimeMSExpired',
    'plain',
    {
      find: '503 1',
      insert: 'unknown 1',
      updateMany: 'unknown 1',
      statement: '503 1',
      commit: 'unknown many',
    },
    ['counts', 'does not count'],
  ],
  [
    262,
    'ExceededTimeLimit',
    'retriable',
    {
      find: '503 2',
      insert: 'unknown 1',
      updateMany: 'unknown 1',
      statement: '503 many',
      commit: 'unknown many',
    },
    ['does not count', 'does not count'],
  ],
  [
    11_601,
    'Interrupted',
    'plain',
    {
      find: '503 1',
      insert: 'unknown 1',
      updateMany: 'unknown 1',
      statement: '503 1',
      commit: 'unknown many',
    },
    ['does not count', 'does not count'],
  ],
  [
    290,
    'TransactionExceededLifetimeLimitSeconds',
    'plain',
    {
      find: '503 1',
      insert: 'unknown 1',
      updateMany: 'unknown 1',
      statement: '503 3',
      commit: 'unknown many',
    },
    ['does not count', 'does not count'],
  ],
  // Category CursorInvalidatedError: an index or a collection was dropped under a running query.
  [
    175,
    'QueryPlanKilled',
    'plain',
    {
      find: '503 1',
      insert: 'unknown 1',
      updateMany: 'unknown 1',
      statement: '503 3',
      commit: 'unknown many',
    },
    ['does not count', 'does not count'],
  ],
  // The server goes away, or is no longer the primary.
  [
    91,
    'ShutdownInProgress',
    'retriable',
    {
      find: '503 2',
      insert: 'unknown 1',
      updateMany: 'unknown 1',
      statement: '503 many',
      commit: 'unknown many',
    },
    ['does not count', 'does not count'],
  ],
  [
    189,
    'PrimarySteppedDown',
    'retriable',
    {
      find: '503 2',
      insert: 'unknown 1',
      updateMany: 'unknown 1',
      statement: '503 many',
      commit: 'unknown many',
    },
    ['does not count', 'does not count'],
  ],
  // Overload: category SystemOverloadedError. Without RetryableError a command of several documents may have begun.
  [
    433,
    'AdmissionQueueOverflow',
    OVERLOADED,
    { find: '503 1', insert: '503 1', updateMany: 'unknown 1', statement: '503 3', commit: 'unknown many' },
    ['does not count', 'does not count'],
  ],
  [
    449,
    'RateLimitExceeded',
    OVERLOADED,
    { find: '503 1', insert: '503 1', updateMany: 'unknown 1', statement: '503 3', commit: 'unknown many' },
    ['does not count', 'does not count'],
  ],
  [
    433,
    'AdmissionQueueOverflow',
    REJECTED,
    { find: '503 1', insert: '503 1', updateMany: '503 1', statement: '503 3', commit: '503 3' },
    ['does not count', 'does not count'],
  ],
  [
    462,
    'IngressRequestRateLimitExceeded',
    REJECTED,
    { find: '503 1', insert: '503 1', updateMany: '503 1', statement: '503 3', commit: '503 3' },
    ['does not count', 'does not count'],
  ],
  // The cache of the storage engine is full (manual: "Production Considerations" of transactions).
  [
    365,
    'TemporarilyUnavailable',
    'plain',
    { find: '503 1', insert: '503 1', updateMany: 'unknown 1', statement: '503 3', commit: 'unknown many' },
    ['does not count', 'does not count'],
  ],
  [
    388,
    'TransactionTooLargeForCache',
    'plain',
    { find: '503 1', insert: '503 1', updateMany: 'unknown 1', statement: '503 3', commit: 'unknown many' },
    ['does not count', 'does not count'],
  ],
  // The server or its router has no resources for the command.
  [
    402,
    'ResourceExhausted',
    'plain',
    { find: '503 1', insert: '503 1', updateMany: 'unknown 1', statement: '503 3', commit: 'unknown many' },
    ['does not count', 'does not count'],
  ],
  [
    450,
    'PooledConnectionAcquisitionRejected',
    OVERLOADED,
    { find: '503 1', insert: '503 1', updateMany: 'unknown 1', statement: '503 3', commit: 'unknown many' },
    ['does not count', 'does not count'],
  ],
  // The snapshot of a transaction is too old.
  [
    246,
    'SnapshotUnavailable',
    'plain',
    { find: '503 1', insert: '503 1', updateMany: 'unknown 1', statement: '503 1', commit: 'unknown many' },
    ['counts', 'does not count'],
  ],
  // No member can serve the read, or a majority is not known yet (after a start). 134 is of the category RetriableError.
  [
    133,
    'FailedToSatisfyReadPreference',
    'plain',
    { find: '503 1', insert: '503 1', updateMany: 'unknown 1', statement: '503 3', commit: 'unknown many' },
    ['does not count', 'does not count'],
  ],
  [
    134,
    'ReadConcernMajorityNotAvailableYet',
    'retriable',
    { find: '503 2', insert: '503 1', updateMany: 'unknown 1', statement: '503 3', commit: 'unknown many' },
    ['does not count', 'does not count'],
  ],
];

interface Note {
  _id: number;
  text: string;
}

const noteSchema = () => new mongoose.Schema<Note>({ _id: Number, text: String });

const config = testConfig('wallet');
/** Often enough that the driver finds its primary again before the deadline of a transaction. */
const HEARTBEAT = 'heartbeatFrequencyMS=500';
const log = createLog({ service: 'wallet', level: process.env.TEST_LOG_LEVEL ?? 'silent' });
/** Deadline of a command that is repeated until then; it is doubled on a machine too slow for a second try. */
const REPEATED_MS = 150;
/** Deadline of tests in which the number of tries does not matter. */
const OUTCOME_ONLY_MS = 100;
/** Deadline of tests that count the tries: on a busy machine each takes long. */
const MANY_TRIES_MS = 20_000;
const PLACES = ['find', 'insert', 'updateMany', 'statement', 'commit'] as const;

let proxy: MongoProxy;
let service: RunningService;
let connection: Connection;
let notes: Model<Note>;
/** A connection that bypasses the proxy. */
let direct: Connection;
let lastId = 0;

const insertIn = (id: number, deadlineMs: number): Promise<unknown> =>
  inTransaction(
    connection,
    async (session) => {
      await notes.create([{ _id: id, text: 'new' }], { session });
    },
    { deadlineMs },
  );

const work: Record<Place, (id: number, deadlineMs: number) => Promise<unknown>> = {
  find: (id) => notes.findById(id).lean(),
  insert: (id) => notes.create({ _id: id, text: 'new' }),
  updateMany: (id) => notes.updateMany({ _id: id }, { $set: { text: 'changed' } }, { upsert: true }),
  statement: insertIn,
  commit: insertIn,
};

const start = async (): Promise<void> => {
  proxy = await startMongoProxy(config.MONGODB_URI);
  const runtime = await createServiceRuntime(
    'wallet',
    { ...config, MONGODB_URI: `${proxy.uri}&${HEARTBEAT}` },
    { log },
  );
  connection = runtime.connection;
  notes = connection.model<Note>('Note', noteSchema());
  const routes = PLACES.map((name) =>
    defineRoute({
      method: 'POST',
      path: `/${name}`,
      summary: name,
      tag: 'test',
      access: 'guest',
      body: z.object({ id: z.int(), deadlineMs: z.int() }),
      errorStyle: 'error_code',
      responses: { 201: z.object({}) },
      handle: async ({ body }) => {
        await work[name](body.id, body.deadlineMs);
        return created({});
      },
    }),
  );
  service = await runtime.serve({ routes, grpc: [], consumers: [] });
  direct = await mongoose
    .createConnection(config.MONGODB_URI, { dbName: config.MONGODB_DATABASE })
    .asPromise();
};

const stop = async (): Promise<void> => {
  proxy.restore();
  await service.close();
  await direct.close();
  await proxy.close();
  await dropDatabase(config);
};

const post = (name: Place, id: number, deadlineMs = MANY_TRIES_MS): Promise<Answer> =>
  apiClient('wallet', service.url)('POST', `/${name}`, { body: { id, deadlineMs } });

const newId = (): number => {
  lastId += 1;
  return lastId;
};

const isStored = async (id: number): Promise<boolean> =>
  (await direct.collection('notes').countDocuments({ _id: id as never })) === 1;

/** After a code that says that the primary has changed, the driver looks for it anew. */
const untilConnected = (): Promise<true> =>
  eventually(async () => (await post('find', newId())).status === 201);

const labelsAt = (place: Place, kind: 'retriable' | 'plain' | string[]): string[] => {
  if (typeof kind !== 'string') return kind;
  if (kind === 'retriable' && place === 'statement') return ['TransientTransactionError'];
  return kind === 'retriable' && place === 'commit' ? ['RetryableWriteError'] : [];
};

const COMMANDS: Record<Place, string> = {
  find: 'find',
  insert: 'insert',
  updateMany: 'update',
  statement: 'insert',
  commit: 'commitTransaction',
};

const isAt =
  (place: Place) =>
  (command: string, collection: string): boolean =>
    command === COMMANDS[place] && (place === 'commit' || collection === 'notes');

const errorOf = (code: number, codeName: string, errorLabels: string[] = []) => ({
  ok: 0,
  code,
  codeName,
  errmsg: codeName,
  ...(errorLabels.length === 0 ? {} : { errorLabels }),
});

const outcomeOf = (answer: Answer): string => {
  if (answer.status !== 503) return String(answer.status);
  return answer.body.code === 'outcome_unknown' ? 'unknown' : '503';
};

/** The response to a command that always gets this error, and how often it was sent. */
const postWith = async (place: Place, id: number, answer: object, isRepeated: boolean) => {
  for (let deadlineMs = isRepeated ? REPEATED_MS : MANY_TRIES_MS; ; deadlineMs *= 2) {
    const sent = proxy.answerAt({ fits: isAt(place), answer: { ...answer } });
    const response = await post(place, id, deadlineMs);
    if (!isRepeated || sent() > 1 || deadlineMs > MANY_TRIES_MS) return { response, sent: sent() };
  }
};

const triesOf = (sent: number, expected: Consequence): string =>
  expected.endsWith('many') && sent > 1 ? 'many' : String(sent);

export const testDatabaseErrors = (rows: readonly Row[]): void => {
  beforeAll(start);
  afterAll(stop);
  afterEach(() => proxy.restore());

  describe.each(rows)('%i %s (%s)', (code, name, kind, expected, counts) => {
    test.each(PLACES)(
      'an error at %s gets the right response after a bounded number of tries',
      async (place) => {
        await untilConnected();
        const id = newId();
        const isRepeated = expected[place].endsWith('many');
        const error = errorOf(code, name, labelsAt(place, kind));
        const { response: answer, sent } = await postWith(place, id, error, isRepeated);
        expect(`${outcomeOf(answer)} ${triesOf(sent, expected[place])}`).toBe(expected[place]);
        expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
        proxy.restore();
        await untilConnected();
        // The next transaction of a session ends the one that is open.
        if (outcomeOf(answer) === '503') expect(await isStored(id)).toBe(false);
      },
    );

    test.each([
      ['statement', 0],
      ['commit', 1],
    ] as const)(
      'a failed try of a consumer is counted or not, as in the table: at its %s',
      async (place, index) => {
        await untilConnected();
        proxy.answerAt({ fits: isAt(place), answer: errorOf(code, name, labelsAt(place, kind)) });
        const error = await insertIn(newId(), OUTCOME_ONLY_MS).catch((thrown: unknown) => thrown);
        const { headers, outcome } = decideRetry(
          { namespace: 'n', service: 's', retryDelaysMs: [1, 2], clock: systemClock },
          {
            attempts: 0,
            consumer: undefined,
            originalRoutingKey: orderPlaced.type,
            publishedAs: orderPlaced.type,
            firstFailure: undefined,
            notBefore: undefined,
          },
          { error, consumer: 'orders' },
        );
        expect([headers[HEADER.attempts] === 1 ? 'counts' : 'does not count', outcome]).toEqual([
          counts[index],
          'retried',
        ]);
      },
    );
  });

  describe('a write outside of a transaction', () => {
    // These end a command that has begun.
    test.each(
      rows
        .filter(([, , , { insert }]) => insert.startsWith('unknown'))
        .flatMap(([code, name]) =>
          (['insert', 'updateMany'] as const).map((place) => ({ code, name, place })),
        ),
    )(
      'an executed write is never reported as undone: $code $name at $place',
      async ({ code, name, place }) => {
        await untilConnected();
        const id = newId();
        proxy.answerAt({ fits: isAt(place), answer: errorOf(code, name), isExecuted: true });
        expect(outcomeOf(await post(place, id))).toBe('unknown');
        expect(await isStored(id)).toBe(true);
      },
    );

    test.each(rows)(
      'a write that the driver may have retried is unknown: %i %s (%s)',
      async (code, name, kind) => {
        const repeating = await connectMongo({
          uri: `${proxy.uri.replace('retryWrites=false', 'retryWrites=true')}&${HEARTBEAT}`,
          database: config.MONGODB_DATABASE,
        });
        try {
          const model = repeating.model<Note>('Note', noteSchema());
          const id = newId();
          const isRetriable = kind === 'retriable';
          const labels = isRetriable ? ['RetryableWriteError'] : labelsAt('insert', kind);
          const sent = proxy.answerAt({ fits: isAt('insert'), answer: errorOf(code, name, labels) });
          const error = await model.create({ _id: id, text: 'new' }).catch((thrown: unknown) => thrown);
          expect([isOutcomeUnknown(error), sent()]).toEqual([true, isRetriable ? 2 : 1]);
        } finally {
          proxy.restore();
          await repeating.close();
        }
      },
    );
  });

  test('a commit that found no server was not sent: nothing is stored, and the response says so', async () => {
    const id = newId();
    const impatient = await connectMongo({
      uri: proxy.uri,
      database: config.MONGODB_DATABASE,
      serverSelectionTimeoutMs: 300,
    });
    const rows = impatient.model<Note>('Note', noteSchema());
    const error = await inTransaction(
      impatient,
      async (session) => {
        await rows.create([{ _id: id, text: 'new' }], { session });
        void proxy.cutAt((command) => command === 'find');
        await rows
          .findById(id)
          .lean()
          .catch(() => undefined);
      },
      { deadlineMs: REPEATED_MS },
    ).catch((thrown: unknown) => thrown);
    proxy.restore();
    await impatient.close();
    expect([isOutcomeUnknown(error), isNotSent(error)]).toEqual([false, true]);
    await untilConnected();
    expect(await isStored(id)).toBe(false);
  });

  test('the limit of a transaction counts an hour after the first failure', () => {
    const now = systemClock.now();
    const error = Object.assign(new mongoose.mongo.MongoServerError({ message: 'too large' }), { code: 388 });
    const attemptsAfter = (minutes: number): unknown =>
      decideRetry(
        { namespace: 'n', service: 's', retryDelaysMs: [1, 2], clock: systemClock },
        {
          attempts: 0,
          consumer: undefined,
          originalRoutingKey: orderPlaced.type,
          publishedAs: orderPlaced.type,
          firstFailure: new Date(now.getTime() - minutes * MINUTE_MS).toISOString(),
          notBefore: undefined,
        },
        { error, consumer: 'orders' },
      ).headers[HEADER.attempts];
    expect([attemptsAfter(59), attemptsAfter(61)]).toEqual([0, 1]);
  });

  describe('an error that does not recur at the next try', () => {
    test.each(rows.filter(([, , , { statement }]) => !statement.endsWith(' 1')))(
      'a short error at a statement leaves no trace: %i %s',
      async (code, name, kind) => {
        await untilConnected();
        const id = newId();
        const answer = errorOf(code, name, labelsAt('statement', kind));
        const sent = proxy.answerAt({ fits: isAt('statement'), answer, times: 1 });
        expect((await post('statement', id)).status).toBe(201);
        expect(sent()).toBe(2);
        expect(await isStored(id)).toBe(true);
      },
    );

    test.each(
      rows.flatMap(([code, name, kind]) =>
        [false, true].map((isExecuted) => ({ code, name, kind, isExecuted })),
      ),
    )(
      'a short error at a commit leaves no trace, executed ($isExecuted): $code $name $kind',
      async ({ code, name, kind, isExecuted }) => {
        await untilConnected();
        const id = newId();
        const answer = errorOf(code, name, labelsAt('commit', kind));
        const sent = proxy.answerAt({ fits: isAt('commit'), answer, times: 1, isExecuted });
        expect((await post('commit', id)).status).toBe(201);
        expect(sent()).toBe(2);
        expect(await isStored(id)).toBe(true);
      },
    );
  });

  describe('a write that is applied and not yet known to be durable (64 WriteConcernTimeout)', () => {
    const answer = {
      ok: 1,
      n: 1,
      writeConcernError: {
        code: 64,
        codeName: 'WriteConcernTimeout',
        errmsg: 'waiting for replication timed out',
      },
    };

    test.each(['insert', 'commit'] as const)(
      'a write without a durable confirmation is unknown at %s',
      async (place) => {
        const id = newId();
        proxy.answerAt({ fits: isAt(place), answer, isExecuted: true });
        expect(outcomeOf(await post(place, id, REPEATED_MS))).toBe('unknown');
        expect(await isStored(id)).toBe(true);
      },
    );
  });

  test('a commit that was rejected leaves no open transaction: its documents are free at once', async () => {
    const id = newId();
    const answer = errorOf(462, 'IngressRequestRateLimitExceeded', REJECTED);
    proxy.answerAt({ fits: isAt('commit'), answer });
    expect(outcomeOf(await post('commit', id))).toBe('503');
    proxy.restore();
    await eventually(async () => (await post('commit', id)).status === 201);
  });

  test('a commit that was rejected after a lost one is unknown: the first may be stored', async () => {
    const id = newId();
    const lost = errorOf(262, 'ExceededTimeLimit', ['RetryableWriteError']);
    const rejected = errorOf(462, 'IngressRequestRateLimitExceeded', REJECTED);
    let commits = 0;
    const fits = (command: string): boolean => command === 'commitTransaction';
    proxy.answerAt({
      fits,
      get answer() {
        commits += 1;
        return commits === 1 ? lost : rejected;
      },
      get isExecuted() {
        return commits === 0;
      },
    });
    expect(outcomeOf(await post('commit', id, REPEATED_MS))).toBe('unknown');
    expect(await isStored(id)).toBe(true);
  });
};
