/** The queries of the service runtime on the collections that every service has. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { AUDIT_ACTIONS, AUDIT_SUBJECTS } from '../../src/audit/actions.ts';
import { type AuditLog, createAuditLog } from '../../src/audit/log.ts';
import { auditSealsOf, registerAuditModels, smallestAuditId } from '../../src/audit/models.ts';
import { created } from '../../src/http/define-route.ts';
import { HOUR_MS, MINUTE_MS, systemRandom } from '../../src/kernel/clock.ts';
import type { Broker } from '../../src/messaging/broker.ts';
import { handleOnce } from '../../src/messaging/inbox.ts';
import { registerEventModels } from '../../src/messaging/models.ts';
import { createOutbox } from '../../src/messaging/outbox.ts';
import { startRelay } from '../../src/messaging/relay.ts';
import { type Connection, connectMongo } from '../../src/mongo/connect.ts';
import { createIdempotency, storedKey } from '../../src/mongo/idempotency.ts';
import { createIdempotencyIndexes, type StoredReply } from '../../src/mongo/idempotency-claims.ts';
import { ensureIndexes } from '../../src/mongo/indexes.ts';
import { createRateLimitIndexes, createRateLimitWindows } from '../../src/mongo/rate-limit-windows.ts';
import { createSequences } from '../../src/mongo/sequence.ts';
import { inTransaction } from '../../src/mongo/transaction.ts';
import { createCrossServiceCheck } from '../../src/runtime/cross-service-idempotency.ts';
import { connectRedis, type Redis } from '../../src/runtime/redis.ts';
import { type CommandWatch, monitored, watchCommands } from '../../src/testing/commands.ts';
import { fillLike } from '../../src/testing/fill.ts';
import { dropDatabase, testConfig } from '../../src/testing/harness.ts';
import { ManualClock } from '../../src/testing/manual-clock.ts';
import { exceptOnPrebuilt } from '../../src/testing/query-plans.ts';
import { RUNTIME_SHARDS } from '../../src/testing/shards.ts';
import {
  log,
  openBroker,
  orderCancelled,
  orderPlaced,
  redisUrl,
  removeBroker,
  until,
} from '../messaging/support.ts';

const config = monitored(testConfig('wallet'));
const NEVER = new Date('2200-01-01T00:00:00Z');
// In the future: the database deletes expired documents by real time.
const clock = new ManualClock('2100-01-01T00:00:00Z');

const EXCEPTIONS = [
  ...exceptOnPrebuilt(
    'it reads and sorts the whole outbox for each batch; the outbox is normally nearly empty',
    ['COLLSCAN: find outbox {} sort {"_id":1} limit'],
  ),
  ...exceptOnPrebuilt('it reads a whole list to sort or to count it', [
    'a wide index scan: aggregate audit_entries {"service":"?"',
  ]),
  ...exceptOnPrebuilt('it does not scan along `_id`; a process reads the newest seal once', [
    'COLLSCAN: find audit_seals {} sort {"_id":-1} limit',
  ]),
];

let connection: Connection;
let broker: Broker;
let redis: Redis;
let watch: CommandWatch;
let audit: AuditLog;

const fill = async (): Promise<void> => {
  const { outbox, inbox } = registerEventModels(connection);
  const event = { type: orderCancelled.type, aggregate: 'shop/1', aggregateVersion: 1, occurredAt: NEVER };
  await outbox.create({ ...event, _id: 1_000_000, body: '{}' });
  await fillLike(connection, 'outbox', (n) => ({ _id: 1_000_000 + n, aggregate: `shop/${n}` }));
  await inbox.create({ consumer: 'shop', eventId: 'none', processedAt: new Date() });
  await fillLike(connection, 'inbox', (n) => ({ eventId: `event-${n}` }));
  await idempotency().run({ userId: 0, key: 'first', fingerprint: {} }, asItIs, async () =>
    created({ data: {} }),
  );
  await fillLike(connection, 'idempotency_keys', (n) => ({ _id: `key-${n}`, user_id: n, expires_at: NEVER }));
  await createRateLimitWindows(connection).consume({ points: 3, windowS: 60 }, 'first');
  await fillLike(connection, 'rate_limits', (n) => ({ _id: `key-${n}`, expire: NEVER }));
  await fillAuditLog();
};

const AUDITED_AT = new Date('2026-01-15T10:00:00Z');

/** Each service has one in twenty entries, fewer than a plan may examine. Each operator has fifty. */
const fillAuditLog = async (): Promise<void> => {
  const { keys, seals } = registerAuditModels(connection);
  await inTransaction(connection, (session) =>
    audit.record(session, { actorId: 1, action: 'user.update', subject: { type: 'user', id: 1 } }),
  );
  await audit.seal();
  await fillLike(connection, 'audit_entries', (n) => ({
    _id: smallestAuditId(AUDITED_AT) + n * 1_000,
    service: `shop-${n % 20}`,
    actor_id: n % 400,
    action: AUDIT_ACTIONS[n % AUDIT_ACTIONS.length],
    subject_type: n % 100 < 50 ? AUDIT_SUBJECTS[n % AUDIT_SUBJECTS.length] : `kind-${n % 50}`,
    subject_id: n,
    seal: n % 1_000 === 0 ? null : 1_000_000 + Math.ceil(n / 500),
  }));
  await keys.create({ _id: 1_000_000, key: Buffer.alloc(32).toString('base64') });
  await fillLike(connection, 'audit_keys', (n) => ({ _id: n }));
  expect(await seals.countDocuments()).toBe(1);
  await fillLike(auditSealsOf(connection), 'audit_seals', (n) => ({ _id: n + 1 }));
};

beforeAll(async () => {
  connection = await connectMongo({ uri: config.MONGODB_URI, database: config.MONGODB_DATABASE });
  redis = await connectRedis({ url: redisUrl(), log });
  broker = await openBroker();
  audit = createAuditLog({ connection, service: 'shop-3', clock, random: systemRandom, log });
  await ensureIndexes(connection);
  await createIdempotencyIndexes(connection);
  await createRateLimitIndexes(connection);
  await fill();
  watch = watchCommands(config.MONGODB_DATABASE, {
    withRuntime: true,
    exceptions: EXCEPTIONS,
    shards: RUNTIME_SHARDS,
  });
});
afterAll(async () => {
  redis.disconnect();
  await removeBroker(broker, []);
  await connection.close();
  await dropDatabase(config);
});

const asItIs = (reply: StoredReply): StoredReply => reply;

const idempotency = (at = clock) =>
  createIdempotency({
    connection,
    crossServiceCheck: createCrossServiceCheck(redis, config.EVENTS_NAMESPACE, at),
    clock: at,
    uuid: () => systemRandom.uuid(),
  });

const expectServed = async (collection: string, work: () => Promise<unknown>): Promise<void> => {
  const sent = await watch.during(work);
  expect(sent.filter((command) => command.collection === collection)).not.toEqual([]);
  expect(await watch.faults(sent)).toEqual([]);
};

test('the relay of a full outbox uses indexes', async () => {
  const outbox = createOutbox({ connection, service: 'shop', clock, random: systemRandom });
  let isPublished = false;
  /** Refuses the events that fill the outbox, so that they stay. */
  const refusing: Broker = {
    ...broker,
    publish: async (exchange, type, ...rest) => {
      if (type === orderCancelled.type) throw new Error('refused by the test');
      const published = await broker.publish(exchange, type, ...rest);
      isPublished = true;
      return published;
    },
  };
  await expectServed('outbox', async () => {
    const relay = startRelay({ connection, broker: refusing, log, realTime: clock, pollIntervalMs: 20 });
    await inTransaction(connection, (session) =>
      outbox.publish(session, orderPlaced, { subject: 'new', data: { order_id: 1 }, aggregateVersion: 1 }),
    );
    await until(() => isPublished);
    await relay.close();
  });
});

test('the inbox uses an index', async () => {
  const event = { id: 'new', type: orderPlaced.type } as Parameters<typeof handleOnce>[2];
  const consumer = { name: 'shop', handle: async () => undefined } as unknown as Parameters<
    typeof handleOnce
  >[1];
  await expectServed('inbox', async () => {
    expect(await handleOnce(connection, consumer, event, log)).toBe('done');
    expect(await handleOnce(connection, consumer, event, log)).toBe('duplicate');
  });
});

describe('an Idempotency-Key', () => {
  const request = (key: string) => ({ userId: 1, key, fingerprint: {} });
  const reply = created({ data: { id: 1 } });

  test('a key that is new, repeated, or reused after a day is found by an index', async () => {
    const later = new ManualClock(clock.now());
    await expectServed('idempotency_keys', async () => {
      await idempotency().run(request('a'), asItIs, (complete) =>
        inTransaction(connection, async (session) => {
          await complete(session, reply);
          return reply;
        }),
      );
      expect(await idempotency().run(request('a'), asItIs, async () => created({}))).toMatchObject({
        status: 201,
      });
      later.advance(25 * HOUR_MS);
      await idempotency(later).run(request('a'), asItIs, async () => reply);
    });
  });

  test('the key of a run that hangs or fails is found by an index', async () => {
    const later = new ManualClock(clock.now());
    later.advance(2 * MINUTE_MS);
    await expectServed('idempotency_keys', async () => {
      const hung = idempotency().run(request('b'), asItIs, async () => {
        await idempotency(later).run(request('b'), asItIs, async () => reply);
        return reply;
      });
      await hung;
      const failing = idempotency().run(request('c'), asItIs, () => Promise.reject(new Error('failed')));
      await expect(failing).rejects.toThrow('failed');
      expect(
        await connection.collection('idempotency_keys').findOne({ _id: storedKey(1, 'c') as never }),
      ).toBeNull();
    });
  });

  test('the keys of an erased user are found by an index', async () => {
    await expectServed('idempotency_keys', () =>
      inTransaction(connection, (session) => idempotency().eraseAccount(session, 1, 400)),
    );
  });
});

test('every state of a rate-limit window is found by an index', async () => {
  const { consume } = createRateLimitWindows(connection);
  await expectServed('rate_limits', async () => {
    for (const points of [2, 2, 2, 3]) await consume({ points, windowS: 60 }, 'new');
    await connection
      .collection('rate_limits')
      .updateOne({ _id: 'new' as never }, { $set: { expire: new Date(0) } });
    await consume({ points: 2, windowS: 60 }, 'new');
  });
});

describe('the audit log', () => {
  const period = { from: AUDITED_AT, to: NEVER };
  const after = { personId: 5, values: { email: 'text' } };

  test.each([
    ['no filter', {}],
    ['a period', period],
    ['an actor', { actorId: 5 }],
    ['an action', { action: 'user.update' }],
    ['a type of subject', { subjectType: 'gym' }],
    ['a number of a subject', { subjectId: 15 }],
    ['a subject', { subjectType: 'gym', subjectId: 15 }],
    ['everything', { ...period, actorId: 5, action: 'user.update', subjectType: 'gym', subjectId: 15 }],
  ])('the pages and the count by %s use an index', async (_name, filter) => {
    await expectServed('audit_entries', async () => {
      await audit.list(filter, { beforeId: undefined, limit: 30 });
      await audit.list(filter, { beforeId: smallestAuditId(AUDITED_AT) + 10_000_000, limit: 30 });
      await audit.count(filter);
    });
  });

  test('an entry of a person, its seal, and the erasure of the person use indexes', async () => {
    await expectServed('audit_keys', async () => {
      for (const personId of [5, 2_000_000])
        await inTransaction(connection, (session) =>
          audit.record(session, {
            actorId: 1,
            action: 'user.update',
            subject: { type: 'user', id: personId },
            after: { ...after, personId },
            isPersonal: () => true,
          }),
        );
      await audit.list({ actorId: 1 }, { beforeId: undefined, limit: 3 });
      await inTransaction(connection, (session) => audit.eraseAccount(session, 5));
    });
    // A process that has just started reads the newest seal directly.
    const started = createAuditLog({ connection, service: 'shop-3', clock, random: systemRandom, log });
    await expectServed('audit_entries', () => started.seal());
  });
});

test('a sequence uses an index', async () => {
  await expectServed('sequences', () => createSequences(connection).take('new', 3));
});

test('each listed scatter is used by one of these commands', () => {
  expect(watch.unusedScatters()).toEqual([]);
});
