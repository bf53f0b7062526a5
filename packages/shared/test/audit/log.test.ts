/** The audit log of one service: in the transaction of the effect, sealed in batches, verified, erasable. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { auditLogParts, checkAuditLog } from '../../src/audit/check.ts';
import { type AuditLogOptions, type AuditRecord, createAuditLog } from '../../src/audit/log.ts';
import {
  type AuditEntryDocument,
  auditHash,
  auditId,
  auditSealsOf,
  smallestAuditId,
} from '../../src/audit/models.ts';
import { AUDIT_RESULTS } from '../../src/audit/results.ts';
import { HOUR_MS, systemRandom } from '../../src/kernel/clock.ts';
import { readHead } from '../../src/kernel/seal.ts';
import { type Connection, connectMongo } from '../../src/mongo/connect.ts';
import { ensureIndexes } from '../../src/mongo/indexes.ts';
import { erase, personalFieldsOf, retain, schemaOf } from '../../src/mongo/privacy.ts';
import { inTransaction } from '../../src/mongo/transaction.ts';
import { COMPILE_CACHE } from '../../src/testing/crash.ts';
import { dropDatabase, testConfig } from '../../src/testing/harness.ts';
import { ManualClock } from '../../src/testing/manual-clock.ts';
import { startMongoProxy } from '../../src/testing/mongo-proxy.ts';
import { countedProgress } from '../../src/testing/progress.ts';
import { log } from '../messaging/support.ts';

interface Person {
  _id: number;
  email: string;
  license: { approved: boolean; number: number };
}

const people = schemaOf<Person>(
  { nested: { license: { approved: Boolean, number: Number } } },
  erase('identifies the person', { email: String }, 'license.approved'),
  retain('not personal', { _id: Number }, 'license.number'),
);
const isPersonal = personalFieldsOf(people);

const clock = new ManualClock('2026-01-15T10:00:00Z');
const config = testConfig('wallet');
let connection: Connection;

beforeAll(async () => {
  connection = await connectMongo({ uri: config.MONGODB_URI, database: config.MONGODB_DATABASE });
  open();
  await ensureIndexes(connection);
});
afterAll(async () => {
  await connection.close();
  await dropDatabase(config);
});

/** Opens the log as another replica. */
const open = (options: Pick<AuditLogOptions, 'sealAllMs' | 'batch'> = {}) =>
  createAuditLog({ connection, service: 'wallet', clock, random: systemRandom, log, ...options });
const entries = () => connection.collection<AuditEntryDocument>('audit_entries');
const record = (fields: Partial<AuditRecord> = {}, audit = open()): Promise<void> =>
  inTransaction(connection, (session) => audit.record(session, { ...ACTION, ...fields }));
const ACTION: AuditRecord = {
  actorId: 5,
  action: 'user.update',
  subject: { type: 'user', id: 7 },
  isPersonal,
};
const state = (email: string) => ({
  personId: 7,
  values: { email, 'license.approved': true, 'license.number': 3 },
});
const newest = async (limit = 1) => (await open().list({}, { beforeId: undefined, limit })).entries;
const check = () => checkAuditLog(connection, 'wallet');

describe('an entry', () => {
  test('an entry is stored together with its effect, or neither is', async () => {
    const effects = connection.collection<{ _id: number }>('effects');
    await connection.createCollection('effects');
    const act = (id: number, fails: boolean): Promise<void> =>
      inTransaction(connection, async (session) => {
        await effects.insertOne({ _id: id }, { session });
        await open().record(session, { ...ACTION, subject: { type: 'user', id } });
        if (fails) throw new Error('refused');
      });
    await expect(act(101, true)).rejects.toThrow('refused');
    expect([await effects.countDocuments(), await entries().countDocuments()]).toEqual([0, 0]);
    await act(102, false);
    expect([await effects.countDocuments(), (await newest())[0]?.subjectId]).toEqual([1, 102]);
  });

  test('an entry is not stored outside a transaction', async () => {
    const session = await connection.startSession();
    await expect(open().record(session, ACTION)).rejects.toThrow();
    await session.endSession();
  });

  test('an entry encrypts the fields that their schema declares as personal', async () => {
    await record({ before: state('old@example.org'), after: state('new@example.org') });
    const [entry] = await newest();
    expect(entry).toMatchObject({ actorId: 5, action: 'user.update', subjectType: 'user', subjectId: 7 });
    expect([entry?.before?.email, entry?.after?.email]).toEqual(['old@example.org', 'new@example.org']);
    const stored = await entries().findOne({ _id: entry?.id ?? 0 });
    expect(JSON.stringify(stored)).not.toContain('example.org');
    const fields = JSON.parse(stored?.after ?? '') as object[];
    expect(fields).toEqual([
      { field: 'email', person: 7, data: expect.any(String) },
      { field: 'license.approved', person: 7, data: expect.any(String) },
      { field: 'license.number', value: 3 },
    ]);
  });

  test('an entry has times in the format of the API, including inside values', async () => {
    const at = new Date('2026-01-15T10:00:00.123Z');
    const values = { erased_at: at, periods: [{ from: at, days: 3 }] };
    await record({
      before: { personId: null, values },
      after: { personId: 7, values: { email: at } },
    });
    const text = '2026-01-15 10:00:00';
    const [entry] = await newest();
    expect(entry?.before).toEqual({ erased_at: text, periods: [{ from: text, days: 3 }] });
    expect(entry?.after).toEqual({ email: text });
  });

  test('an entry id is unique across services, and larger than any of an earlier second', () => {
    const [now, later] = [new Date('2026-01-15T10:00:00.900Z'), new Date('2026-01-15T10:00:01Z')];
    const ids = ['identity', 'wallet', 'store-billing', 'another'].map((service) =>
      auditId(service, now, 199_999),
    );
    expect(new Set(ids).size).toBe(4);
    for (const id of ids) {
      expect(id).toBeGreaterThanOrEqual(smallestAuditId(now));
      expect(id).toBeLessThan(auditId('identity', later, 0));
    }
    expect(auditId('another', new Date('2147-01-01T00:00:00Z'), 199_999)).toBeLessThan(
      Number.MAX_SAFE_INTEGER,
    );
  });
});

test('twenty operators at once, sealed by three replicas: every entry is in the chain once', async () => {
  const replicas = [open(), open(), open()];
  const before = await entries().countDocuments();
  const acting = Array.from({ length: 20 }, (_, index) =>
    record(
      { subject: { type: 'user', id: 300 + index }, after: state(`${index}@example.org`) },
      replicas[index % 3],
    ),
  );
  const sealing = Array.from({ length: 12 }, (_, index) => replicas[index % 3]?.seal());
  await Promise.all([...acting, ...sealing]);
  await replicas[0]?.seal();
  const report = await check();
  expect(report).toMatchObject({ entries: before + 20, unsealed: 0, difference: undefined });
  const seals = await auditSealsOf(connection).collection('audit_seals').find().toArray();
  // The service could change seals in its main database.
  expect(await connection.collection('audit_seals').countDocuments()).toBe(0);
  const keys = seals.flatMap(({ leaves }) => (leaves as { key: string }[]).map(({ key }) => key));
  expect([new Set(keys).size, keys.length]).toEqual([before + 20, before + 20]);
});

describe('the sealing rounds of a service', () => {
  const unsealed = () => entries().countDocuments({ seal: null });

  test('a service seals its own entries at once, and queries nothing while none can be waiting', async () => {
    const service = open({ sealAllMs: HOUR_MS });
    await record();
    await service.sealIfNeeded();
    expect(await unsealed()).toBe(1);
    await record({}, service);
    await service.sealIfNeeded();
    expect([await unsealed(), (await check()).difference]).toEqual([0, undefined]);
  });

  test('a service seals the entries of commands and of dead processes after a while', async () => {
    const service = open({ sealAllMs: 0 });
    await record();
    await service.sealIfNeeded();
    expect([await unsealed(), (await check()).difference]).toEqual([0, undefined]);
  });

  test('a service seals all intact entries, even if more entries were changed than fit in a batch', async () => {
    await open().seal();
    for (let n = 0; n < 8; n += 1) await record();
    const waiting = await entries().find({ seal: null }).sort({ _id: 1 }).toArray();
    const changed = { _id: { $in: waiting.slice(0, 5).map(({ _id }) => _id) } };
    await entries().updateMany(changed, { $set: { action: 'user.delete' } });
    expect(await open({ batch: 2 }).seal()).toBe(3);
    const left = await entries().find({ seal: null }).sort({ _id: 1 }).toArray();
    expect(left.map(({ _id }) => _id)).toEqual(changed._id.$in);
    await entries().updateMany(changed, { $set: { action: 'user.update' } });
    expect([await open({ batch: 2 }).seal(), (await check()).difference]).toEqual([5, undefined]);
  });
});

test('the audit log has its own sequence of numbers, apart from the ids of the service', async () => {
  await record();
  const counters = async (name: string) => connection.collection(name).find().toArray();
  expect(await counters('sequences')).toEqual([]);
  expect(await counters('audit_sequences')).toMatchObject([{ value: expect.any(Number) }]);
});

describe('the check of an audit log', () => {
  const sealed = async (): Promise<AuditEntryDocument> => {
    await record({ after: state('a@example.org') });
    await open().seal();
    const [entry] = await entries().find().sort({ _id: -1 }).limit(1).toArray();
    if (entry === undefined) throw new Error('nothing is stored');
    return entry;
  };

  test('the check names the first changed entry, even if its hash was recomputed', async () => {
    const entry = await sealed();
    const changed = { ...entry, actor_id: 6 };
    await entries().updateOne({ _id: entry._id }, { $set: { actor_id: 6 } });
    expect((await check()).difference).toBe(`entry ${entry._id} is not what was sealed in ${entry.seal}`);
    await entries().updateOne({ _id: entry._id }, { $set: { hash: auditHash(changed) } });
    expect((await check()).difference).toBe(`entry ${entry._id} is not what was sealed in ${entry.seal}`);
    await entries().replaceOne({ _id: entry._id }, entry);
    expect((await check()).difference).toBeUndefined();
  });

  test('the check names the first entry that was removed', async () => {
    const entry = await sealed();
    await entries().deleteOne({ _id: entry._id });
    expect((await check()).difference).toBe(`entry ${entry._id}, sealed in ${entry.seal}, does not exist`);
    await entries().insertOne(entry);
    expect((await check()).difference).toBeUndefined();
  });

  test('the check names an inserted entry, with the number of a seal or from another service', async () => {
    const entry = await sealed();
    // An id of another service, which is free.
    const forged = { ...entry, _id: entry._id + 1, subject_id: 1 };
    const inserted = { ...forged, hash: auditHash(forged) };
    await entries().insertOne(inserted);
    expect((await check()).difference).toBe(
      `entry ${forged._id} is marked with seal ${entry.seal}, which does not contain it`,
    );
    await entries().updateOne({ _id: forged._id }, { $set: { seal: 99_999 } });
    expect((await check()).difference).toBe(
      `entry ${forged._id} is marked with seal 99999, which does not exist`,
    );
    const moved = { ...forged, service: 'gyms', seal: null };
    await entries().replaceOne({ _id: forged._id }, { ...moved, hash: auditHash(moved) });
    expect((await check()).difference).toBe(`entry ${forged._id} belongs to gyms`);
    await entries().deleteOne({ _id: forged._id });
    expect((await check()).difference).toBeUndefined();
  });

  test('the check names a removed seal and a rewritten chain', async () => {
    await sealed();
    const { head } = await check();
    const noted = readHead(head ?? '');
    expect((await checkAuditLog(connection, 'wallet', noted)).difference).toBeUndefined();
    const other = { number: noted?.number ?? 0, hash: '0'.repeat(64) };
    expect((await checkAuditLog(connection, 'wallet', other)).difference).toContain(
      'is not the one that was noted',
    );
    const seals = auditSealsOf(connection).collection<{ _id: number }>('audit_seals');
    const first = await seals.findOne({ _id: 1 });
    await seals.deleteOne({ _id: 1 });
    expect((await check()).difference).toBe('seal 1 does not exist');
    if (first !== null) await seals.insertOne(first);
  });

  test('an entry that was changed before its seal is not sealed', async () => {
    await record();
    const [entry] = await entries().find().sort({ _id: -1 }).limit(1).toArray();
    await entries().updateOne({ _id: entry?._id ?? 0 }, { $set: { action: 'user.delete' } });
    expect(await open().seal()).toBe(0);
    expect((await check()).difference).toBe(`entry ${entry?._id} is not what was stored`);
    await entries().updateOne({ _id: entry?._id ?? 0 }, { $set: { action: 'user.update' } });
    expect(await open().seal()).toBe(1);
  });
});

describe('an erasure', () => {
  const eraseAccount = (userId: number): Promise<void> =>
    inTransaction(connection, (session) => open().eraseAccount(session, userId));

  test('an erasure makes the personal values of the entries unreadable, and the chain stays intact', async () => {
    const person = { personId: 70, values: { email: 'gone@example.org', 'license.number': 4 } };
    await record({ before: { ...person, personId: 71 }, after: person });
    await open().seal();
    await eraseAccount(70);
    const [entry] = await newest();
    expect(entry?.after).toEqual({ email: { erased: true }, 'license.number': 4 });
    expect(entry?.before).toEqual({ email: 'gone@example.org', 'license.number': 4 });
    expect((await check()).difference).toBeUndefined();
  });

  test('an erasure is not undone by later actions of operators', async () => {
    await eraseAccount(80);
    await record({ after: { personId: 80, values: { email: 'late@example.org' } } });
    expect((await newest())[0]?.after).toEqual({ email: { erased: true } });
    expect(await connection.collection<{ _id: number }>('audit_keys').findOne({ _id: 80 })).toEqual({
      _id: 80,
      key: null,
    });
  });

  test('a personal value that is recorded during an erasure cannot be read', async () => {
    for (let person = 1_000; person < 1_004; person += 1) {
      const after = { personId: person, values: { email: 'race@example.org' } };
      await Promise.all([record({ after }), eraseAccount(person), record({ after })]);
      const [one, other] = await newest(2);
      expect([one?.after, other?.after]).toEqual([{ email: { erased: true } }, { email: { erased: true } }]);
    }
  });

  test('a personal value that was changed in the database does not hide the list', async () => {
    await record({ after: state('a@example.org') });
    const [entry] = await entries().find().sort({ _id: -1 }).limit(1).toArray();
    const changed = entry?.after?.replace(/"data":"..../, '"data":"AAAA') ?? null;
    await entries().updateOne({ _id: entry?._id ?? 0 }, { $set: { after: changed } });
    expect((await newest())[0]?.after).toMatchObject({ email: { changed: true } });
    await entries().updateOne({ _id: entry?._id ?? 0 }, { $set: { after: entry?.after ?? null } });
  });
});

describe('a list', () => {
  test('a list of entries is filtered, and continues after an id', async () => {
    const actor = 555;
    for (const subject of [1, 2, 3]) {
      clock.advance(1_000);
      await record({ actorId: actor, subject: { type: 'role', id: subject }, action: 'role.update' });
    }
    const audit = open();
    const subjectIds = async (filter: Parameters<typeof audit.list>[0], beforeId?: number, limit = 10) =>
      (await audit.list(filter, { beforeId, limit })).entries.map(({ subjectId }) => subjectId);
    expect(await subjectIds({ actorId: actor })).toEqual([3, 2, 1]);
    expect(
      await subjectIds({ actorId: actor, subjectType: 'role', subjectId: 2, action: 'role.update' }),
    ).toEqual([2]);
    expect(await subjectIds({ subjectId: 2, action: 'role.update' })).toEqual([2]);
    expect(await subjectIds({ actorId: actor, action: 'user.update' })).toEqual([]);
    const to = clock.now();
    const from = new Date(to.getTime() - 1_000);
    expect(await subjectIds({ actorId: actor, from })).toEqual([3, 2]);
    expect(await subjectIds({ actorId: actor, to: from })).toEqual([2, 1]);
    expect(await subjectIds({ actorId: actor, from, to: from })).toEqual([2]);
    const [last] = (await audit.list({ actorId: actor }, { beforeId: undefined, limit: 1 })).entries;
    expect(await subjectIds({ actorId: actor }, last?.id)).toEqual([2, 1]);
    expect(await audit.count({ actorId: actor, from })).toBe(2);
  });

  test('a list of large entries has fewer of them than requested', async () => {
    const values = { content: 'x'.repeat(300_000) };
    for (let n = 0; n < 3; n += 1) await record({ actorId: 556, after: { personId: null, values } });
    const page = await open().list({ actorId: 556 }, { beforeId: undefined, limit: 10 });
    expect([page.entries.length, page.hasMore]).toEqual([1, true]);
  });
});

describe('npm run audit:log', () => {
  const CLI = fileURLToPath(new URL('../../src/audit/audit-cli.ts', import.meta.url));
  let change: Record<string, string> = {};
  const run = (...args: string[]): Promise<{ code: number; out: string; err: string }> =>
    new Promise((resolve) => {
      const { MONGODB_URI, MONGODB_DATABASE } = config;
      const own = { WALLET_MONGODB_DATABASE: MONGODB_DATABASE };
      const env = {
        ...process.env,
        NODE_OPTIONS: '',
        NODE_COMPILE_CACHE: COMPILE_CACHE,
        MONGODB_URI,
        ...own,
        ...change,
      };
      execFile(process.execPath, [CLI, ...args], { env }, (error, out, err) => {
        // A slow machine shows its progress.
        const failed = err.replaceAll(/^\d+:\d\d .*\n/gm, '');
        resolve({ code: error === null ? 0 : Number(error.code), out, err: failed });
      });
    });

  test('audit:log exits 0 with the head of an intact chain, and 1 with the name of a changed entry', async () => {
    await record();
    await open().seal();
    const { head } = await check();
    const [intact, noted] = await Promise.all([run('wallet'), run(`wallet=${head}`)]);
    expect(noted.code).toBe(0);
    expect([intact.code, intact.out]).toEqual([0, expect.stringContaining(`intact, head ${head}`)]);
    expect(intact.out).toMatch(/\nChecked \d+ entries in 1 audit log: everything is intact\.\n$/);
    expect(intact.err).toBe('');
    const { counts, ...progress } = countedProgress();
    await checkAuditLog(connection, 'wallet', undefined, progress);
    expect(counts.done).toBe(await auditLogParts(connection));
    const [entry] = await entries().find().sort({ _id: -1 }).limit(1).toArray();
    await entries().updateOne({ _id: entry?._id ?? 0 }, { $set: { request_id: 'another' } });
    const changed = await run('wallet');
    expect([changed.code, changed.out]).toEqual([
      1,
      expect.stringContaining(`entry ${entry?._id} is not what was`),
    ]);
    await entries().updateOne({ _id: entry?._id ?? 0 }, { $set: { request_id: entry?.request_id ?? null } });
  });

  test('audit:log reports an unrecorded result, and exits 1 with a difference, 2 without one', async () => {
    await record();
    await open().seal();
    const proxy = await startMongoProxy(config.MONGODB_URI);
    change = { MONGODB_URI: proxy.uri };
    try {
      proxy.answerAt({
        fits: (command, name) => command === 'update' && name === AUDIT_RESULTS,
        answer: { ok: 0, code: 13, codeName: 'Unauthorized', errmsg: 'not authorized' },
      });
      const [intact, changed] = await Promise.all([run('wallet'), run(`wallet=99999:${'0'.repeat(64)}`)]);
      const err = 'wallet: The result was not recorded, so the metrics show the one before: not authorized\n';
      expect([intact.code, intact.err]).toEqual([2, err]);
      expect(intact.out).toContain('everything is intact');
      expect([changed.code, changed.err]).toEqual([1, err]);
      expect(changed.out).toContain('1 log is not intact');
    } finally {
      change = {};
      await proxy.close();
    }
  });

  test('audit:log exits 2 if MONGODB_DATABASE is the database of another service', async () => {
    change = { MONGODB_DATABASE: 'fitness_gyms' };
    const refused = await run('wallet');
    change = {};
    expect(refused).toMatchObject({
      code: 2,
      err: expect.stringContaining('MONGODB_DATABASE is fitness_gyms'),
    });
  });

  test('audit:log prints its usage for wrong arguments', async () => {
    for (const wrong of await Promise.all([run('nobody'), run('wallet=x')]))
      expect(wrong).toMatchObject({ code: 64, err: expect.stringContaining('usage') });
  });
});
