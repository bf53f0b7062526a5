/** Transactions of dead processes, and of processes that only seem dead. */

import { PassThrough } from 'node:stream';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import type { ClientSession } from 'mongoose';
import { systemRandom } from '../../src/kernel/clock.ts';
import { createLog, type Logger } from '../../src/kernel/log.ts';
import { type Connection, connectMongo } from '../../src/mongo/connect.ts';
import {
  leaseSessions,
  registerSession,
  SESSION_COLLECTION,
  type SessionLease,
} from '../../src/mongo/session-lease.ts';
import { inTransaction } from '../../src/mongo/transaction.ts';
import { eventually } from '../../src/testing/harness.ts';
import { startMongoProxy } from '../../src/testing/mongo-proxy.ts';
import { dropDatabase, log, mongodbUri, openDatabase, until } from '../messaging/support.ts';

const ROUND_MS = 20;
/** The view of an observer that sees no living process. */
const DEAD_AFTER_MS = 300;
/** Far more than a process stalls. */
const LIVING_DEAD_AFTER_MS = 3_000;

/** Two processes on one database: two connections. */
let connection: Connection;
let other: Connection;
const leases: SessionLease[] = [];

beforeAll(async () => {
  connection = await openDatabase();
  other = await connectMongo({ uri: mongodbUri(), database: connection.name, log });
  await connection.createCollection('rows');
});

afterEach(async () => {
  for (const lease of leases.splice(0)) await lease.close();
});

afterAll(async () => {
  await other.close();
  await dropDatabase(connection);
});

const start = (
  on: Connection,
  owner = systemRandom.uuid(),
  logTo: Logger = log,
  deadAfterMs = DEAD_AFTER_MS,
): { owner: string; lease: SessionLease } => {
  const lease = leaseSessions({
    connection: on,
    owner,
    log: logTo,
    roundMs: ROUND_MS,
    deadAfterMs,
  });
  leases.push(lease);
  return { owner, lease };
};

const ownerRow = (owner: string) =>
  connection.collection<{ _id: string; renewals: number }>(SESSION_COLLECTION).findOne({ _id: owner });

/** A transaction that holds the row, and its session. */
const hold = async (id: string): Promise<ClientSession> => {
  await connection.collection('rows').insertOne({ _id: id as never, value: 0 });
  const session = await connection.startSession();
  await registerSession(connection, session);
  session.startTransaction();
  await connection.collection('rows').updateOne({ _id: id as never }, { $inc: { value: 1 } }, { session });
  return session;
};

const write = (id: string): Promise<unknown> =>
  inTransaction(
    other,
    (session) =>
      other.collection('rows').updateOne({ _id: id as never }, { $inc: { value: 10 } }, { session }),
    { deadlineMs: 100 },
  );

const value = async (id: string): Promise<unknown> =>
  (await connection.collection('rows').findOne({ _id: id as never }))?.value;

/** Stops the lease without deleting its row, as a killed process does. */
const kill = async (owner: string, lease: SessionLease): Promise<void> => {
  const row = await ownerRow(owner);
  await lease.close();
  await connection.collection(SESSION_COLLECTION).insertOne(row as never);
};

test('the transaction of a dead process is ended by another one, and its rows are free', async () => {
  const { owner, lease } = start(connection);
  const session = await hold('dead');
  await expect(write('dead')).rejects.toMatchObject({ kind: 'unavailable' });
  await kill(owner, lease);
  start(other);
  await until(() =>
    write('dead').then(
      () => true,
      () => false,
    ),
  );
  expect(await value('dead')).toBe(10);
  expect(await ownerRow(owner)).toBeNull();
  await session.endSession();
});

test('a database that refuses to end sessions is logged once with the consequence, and leaves no row', async () => {
  const proxy = await startMongoProxy(mongodbUri());
  proxy.answerAt({
    fits: (command) => command === 'killSessions',
    inBackground: true,
    answer: { ok: 0, code: 8_000, codeName: 'AtlasError', errmsg: 'CMD_NOT_ALLOWED: killSessions' },
  });
  const observer = await connectMongo({ uri: proxy.uri, database: connection.name, log });
  const lines: string[] = [];
  const output = new PassThrough().on('data', (line: Buffer) => lines.push(line.toString('utf8')));
  try {
    const dead: { owner: string; session: ClientSession }[] = [];
    for (const id of ['first', 'second']) {
      const { owner, lease } = start(connection);
      dead.push({ owner, session: await hold(id) });
      await kill(owner, lease);
    }
    const { lease } = start(
      observer,
      undefined,
      createLog({ service: 'test', level: 'debug', destination: output }),
    );
    for (const { owner } of dead) await until(async () => (await ownerRow(owner)) === null);
    await lease.close();
    for (const { session } of dead) await session.endSession();
    const entries = lines.map((line) => JSON.parse(line) as { level: string; msg: string });
    expect(entries.map(({ level, msg }) => ({ level, msg }))).toEqual([
      {
        level: 'warn',
        msg: 'the database refuses killSessions: the transaction of a process that died keeps its locks until the database ends it, after transactionLifetimeLimitSeconds, 60 by default',
      },
    ]);
  } finally {
    await observer.close();
    await proxy.close();
  }
});

test('the transaction of a living process is left alone', async () => {
  const { owner } = start(connection);
  const session = await hold('living');
  start(other, undefined, log, LIVING_DEAD_AFTER_MS);
  const renewals = async (): Promise<number> => (await ownerRow(owner))?.renewals ?? 0;
  const before = await renewals();
  const isOlder = async () => (await renewals()) > before + (1.2 * LIVING_DEAD_AFTER_MS) / ROUND_MS;
  await eventually(isOlder, { intervalMs: 200 });
  await session.commitTransaction();
  await session.endSession();
  expect(await value('living')).toBe(1);
});

test('every session of concurrent transactions is stored before its first write', async () => {
  const { owner } = start(connection);
  const stored: boolean[] = [];
  await Promise.all(
    Array.from({ length: 20 }, () =>
      inTransaction(connection, async (session) => {
        const row = await connection
          .collection<{ _id: string; sessions: string[] }>(SESSION_COLLECTION)
          .findOne({ _id: owner });
        stored.push(row?.sessions.includes(session.id?.id.toUUID().toString() ?? '') === true);
      }),
    ),
  );
  expect(stored).toEqual(Array(20).fill(true));
});

test('a process that closes leaves no row', async () => {
  const { owner, lease } = start(connection);
  await inTransaction(connection, async () => undefined);
  expect(await ownerRow(owner)).not.toBeNull();
  await lease.close();
  expect(await ownerRow(owner)).toBeNull();
});
