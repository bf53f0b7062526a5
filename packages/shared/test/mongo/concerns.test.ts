/** The read and write concerns with which each command is sent, whatever the address of the database says. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import mongoose, { type Model } from 'mongoose';
import { createAuditLog } from '../../src/audit/log.ts';
import { systemClock, systemRandom } from '../../src/kernel/clock.ts';
import { createLog } from '../../src/kernel/log.ts';
import { createRequestScope, runInScope } from '../../src/kernel/request-scope.ts';
import { type Connection, connectMongo } from '../../src/mongo/connect.ts';
import { inTransaction } from '../../src/mongo/transaction.ts';
import type { RunningService } from '../../src/runtime/serve.ts';
import { createServiceRuntime } from '../../src/runtime/service-runtime.ts';
import { monitored, monitoredConnection } from '../../src/testing/commands.ts';
import { dropDatabase, eventually, testConfig } from '../../src/testing/harness.ts';

interface Note {
  _id: number;
  text: string;
}

interface Sent {
  name: string;
  collection: unknown;
  readConcern: unknown;
  writeConcern: unknown;
  isInTransaction: boolean;
}

const config = monitored(testConfig('wallet'));
const log = createLog({ service: 'wallet', level: 'silent' });
const sent: Sent[] = [];
let service: RunningService;
let connection: Connection;
let notes: Model<Note>;

const readsIn = (collection: string): unknown[] =>
  sent
    .filter((command) => command.collection === collection && command.writeConcern === undefined)
    .map(({ readConcern }) => readConcern);

const during = async (work: () => Promise<unknown>): Promise<Sent[]> => {
  const before = sent.length;
  await work();
  return sent.slice(before).filter(({ collection }) => collection === 'notes');
};

beforeAll(async () => {
  const runtime = await createServiceRuntime('wallet', config, { log });
  connection = runtime.connection;
  notes = connection.model<Note>('Note', new mongoose.Schema<Note>({ _id: Number, text: String }));
  monitoredConnection(config.MONGODB_DATABASE)
    .getClient()
    .on('commandStarted', ({ commandName, command }) => {
      const { readConcern, writeConcern, autocommit } = command;
      const collection = command[commandName];
      sent.push({
        name: commandName,
        collection,
        readConcern,
        writeConcern,
        isInTransaction: autocommit === false,
      });
    });
  const due = connection.model('Due', new mongoose.Schema({ at: Date }, { collection: 'due' }));
  const job = { name: 'sweep', intervalMs: 10, run: () => due.find().lean() };
  service = await runtime.serve({ routes: [], grpc: [], consumers: [], jobs: [job] });
});

afterAll(async () => {
  await service.close();
  await dropDatabase(config);
});

const MAJORITY = { level: 'majority' };
const LOCAL = { level: 'local' };
const WRITE = { w: 'majority', j: true, wtimeout: 10_000 };

describe('reads that look for work', () => {
  test('the relay of the outbox reads only data that no failover can roll back', async () => {
    await eventually(() => readsIn('outbox').length > 1);
    expect(new Set(readsIn('outbox').map((concern) => JSON.stringify(concern)))).toEqual(
      new Set([JSON.stringify(MAJORITY)]),
    );
  });

  test('a job reads only data that no failover can roll back, whatever its command', async () => {
    await eventually(() => readsIn('due').length > 0);
    expect(readsIn('due')[0]).toEqual(MAJORITY);
    const commands = await during(async () => {
      for await (const _note of notes.find().lean().cursor()) break;
      await notes.countDocuments({ text: 'a' });
      await notes.aggregate([{ $match: { text: 'a' } }]);
      await notes.distinct('text');
    });
    const concerns = commands.filter(({ name }) => name !== 'getMore').map(({ readConcern }) => readConcern);
    expect(concerns.length).toBeGreaterThanOrEqual(4);
    expect(concerns.every((concern) => JSON.stringify(concern) === JSON.stringify(MAJORITY))).toBe(true);
  });

  test('the sealer of the audit log reads only data that no failover can roll back', async () => {
    const audit = createAuditLog({
      connection,
      service: 'wallet',
      clock: systemClock,
      random: systemRandom,
      log,
    });
    sent.length = 0;
    await audit.seal();
    const reads = sent.filter(({ name, isInTransaction }) => name === 'find' && !isInTransaction);
    const ofAudit = reads.filter(({ collection }) => String(collection).startsWith('audit'));
    expect(ofAudit.length).toBeGreaterThan(0);
    for (const { readConcern } of ofAudit) expect(readConcern).toEqual(MAJORITY);
  });
});

test('a request reads the newest data of the primary', async () => {
  const [read] = await during(() =>
    runInScope(createRequestScope(), async () => notes.find({ text: 'of a request' }).lean()),
  );
  expect(read?.readConcern).toEqual(LOCAL);
});

test('a transaction reads one snapshot, and its reads set no other read concern', async () => {
  const [first, second] = await during(() =>
    inTransaction(connection, async (session) => {
      await notes.find({ text: 'x' }).session(session).lean();
      await notes.find({ text: 'y' }).session(session).lean();
    }),
  );
  expect(first?.readConcern).toMatchObject({ level: 'snapshot' });
  expect(second?.readConcern).toBeUndefined();
});

test('each write and each commit waits for a majority and its journal, for a limited time', async () => {
  const before = sent.length;
  await notes.create({ _id: 1, text: 'a' });
  await notes.updateOne({ _id: 1 }, { $set: { text: 'b' } });
  await connection.collection<Note>('notes').insertOne({ _id: 2, text: 'by the driver' });
  await inTransaction(connection, (session) => notes.create([{ _id: 3, text: 'c' }], { session }));
  const written = sent.slice(before).filter(({ writeConcern }) => writeConcern !== undefined);
  const concernOf = (name: string): unknown[] =>
    written
      .filter((command) => command.name === name && [1, 'notes'].includes(command.collection as never))
      .map(({ writeConcern }) => writeConcern);
  expect(concernOf('insert')).toEqual([WRITE, WRITE]);
  expect(concernOf('update')).toEqual([WRITE]);
  expect(concernOf('commitTransaction')).toEqual([WRITE]);
});

test.each([
  ['', 300_000],
  ['&socketTimeoutMS=0', 300_000],
  ['&socketTimeoutMS=60000', 60_000],
])('a response is awaited for a limited time: with %p in the address, %i ms', async (option, expected) => {
  const uri = `${config.MONGODB_URI}${option}`;
  const limited = await connectMongo({ uri, database: config.MONGODB_DATABASE });
  expect(limited.getClient().options.socketTimeoutMS).toBe(expected);
  await limited.close();
});

describe('an address with options', () => {
  const withOption = (option: string): string =>
    `${config.MONGODB_URI.replace('mongodb://', 'mongodb://user:secret@')}&${option}`;

  test.each([
    'w=1',
    'w=0',
    'w=2',
    'journal=false',
    'j=false',
    'readPreference=secondary',
    'readPreference=secondaryPreferred',
    'readpreference=nearest',
    'readPreferenceTags=dc:a',
    'maxStalenessSeconds=120',
    'readConcernLevel=majority',
    'readConcernLevel=available',
    'wtimeoutMS=1',
    'wtimeout=0',
    'maxAdaptiveRetries=2',
  ])('a contradicting option is refused at once, in one sentence that names it: %s', async (option) => {
    const startedAt = performance.now();
    const refused = connectMongo({ uri: withOption(option), database: 'none' });
    const { message, name } = (await refused.catch((error: unknown) => error)) as Error;
    // The process exits with 78 and this line.
    expect(name).toBe('ConfigError');
    expect(message).toMatch(new RegExp(`^Remove ${option}[^.]*$`));
    expect(message).not.toContain('secret');
    // Not the time in which a database may come up.
    expect(performance.now() - startedAt).toBeLessThan(2_000);
  });

  test('options that agree with the settings, and unrelated ones, are accepted', async () => {
    const uri = `${config.MONGODB_URI}&w=majority&journal=true&readPreference=primary&readConcernLevel=local&retryReads=true`;
    await (await connectMongo({ uri, database: config.MONGODB_DATABASE })).close();
  });
});
