/** Every write that revokes advances the epochs, and its response waits for that (docs/adr/0002). */
import { epochKey, RECORD_LIFETIME_MS, REVOKING } from '@fitness/contracts/credential-epochs.ts';
import { REQUEST_TIMEOUT_HEADER } from '@fitness/shared/http/gateway-protocol.ts';
import { MINUTE_MS, systemRandom } from '@fitness/shared/kernel/clock.ts';
import { createLog } from '@fitness/shared/kernel/log.ts';
import { trusted } from '@fitness/shared/mongo/connect.ts';
import { connectRedis, type Redis } from '@fitness/shared/runtime/redis.ts';
import { type Answer, eventually, gatewayContext, testServers } from '@fitness/shared/testing/harness.ts';
import { startTcpProxy, type TcpProxy } from '@fitness/shared/testing/tcp-proxy.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Model } from 'mongoose';
import { createCredentialEpochs, REVOCATION_WAIT_MS } from '../src/clients/credential-epochs.ts';
import { createStore } from '../src/store/store.ts';
import { setUp } from './second-factor-support.ts';
import {
  type Harness,
  isLive,
  join,
  joinAs,
  logIn,
  noEpochs,
  PASSWORD,
  type Person,
  startHarness,
} from './support.ts';

const log = createLog({ service: 'test', level: 'silent' });
let proxy: TcpProxy;
let harness: Harness;
let redis: Redis;
/** Shorter than in production. */
const WAIT_MS = 2_000;
beforeAll(async () => {
  proxy = await startTcpProxy(testServers().REDIS_URL);
  harness = await startHarness({ REDIS_URL: proxy.uri }, { revocationWaitMs: WAIT_MS });
  redis = await connectRedis({ url: testServers().REDIS_URL });
});
afterAll(async () => {
  redis.disconnect();
  await harness.close();
  await proxy.close();
});

const keyOf = (subject: number | 'roles'): string => epochKey(harness.config.EVENTS_NAMESPACE, subject);
const epochOf = (subject: number | 'roles'): Promise<string | null> => redis.get(keyOf(subject));
const send = (person: Person, method: string, path: string, body?: unknown): Promise<Answer> =>
  harness.send(method, path, { as: person.caller, ...(body === undefined ? {} : { body }) });

type Change = (person: Person) => Promise<Answer>;

/** Revocations of single credentials, which can be repeated. test/e2e/revocation.test.ts has all others. */
const CHANGES: readonly (readonly [string, Change, number])[] = [
  ['a log-out', (person) => send(person, 'POST', '/auth/logout'), 204],
  ['the end of an unknown session', (person) => send(person, 'DELETE', '/auth/sessions/999999'), 404],
  ['the end of an unknown personal token', (person) => send(person, 'DELETE', '/auth/tokens/999999'), 404],
];

describe('an epoch', () => {
  test.each(CHANGES)('the epoch changes with %s, and with its repetition', async (_name, change, status) => {
    const person = await join(harness);
    const seen = new Set([await epochOf(person.id)]);
    for (let time = 0; time < 2; time += 1) {
      expect((await change(person)).status).toBe(status);
      seen.add(await epochOf(person.id));
    }
    expect(seen.size).toBe(3);
    expect(seen).not.toContain(REVOKING);
    expect(await redis.ttl(keyOf(person.id))).toBeGreaterThan(800);
  });

  test('the epoch changes when an operator removes a second factor that is already gone', async () => {
    const [administrator, person] = [await joinAs(harness, 'administrator'), await join(harness)];
    expect((await send(administrator, 'DELETE', `/users/${person.id}/second-factor`)).status).toBe(204);
    expect(await epochOf(person.id)).not.toBeNull();
  });

  test('the epoch changes when a second factor is turned off', async () => {
    const person = await join(harness);
    const { recoveryCodes } = await setUp(harness, person);
    const before = await epochOf(person.id);
    const body = { current_password: PASSWORD, totp: recoveryCodes[0] };
    expect((await send(person, 'DELETE', '/auth/second-factor', body)).status).toBe(204);
    expect(await epochOf(person.id)).not.toBe(before);
  });

  test('the epoch of the roles changes only with their permissions', async () => {
    const administrator = await joinAs(harness, 'administrator');
    const { data } = (await send(administrator, 'GET', '/roles')).body;
    const { id, title, permissions } = data.find(({ name }: { name: string }) => name === 'operator');
    expect((await send(administrator, 'PUT', `/roles/${id}`, { title })).status).toBe(200);
    const before = await epochOf('roles');
    expect((await send(administrator, 'PUT', `/roles/${id}`, { permissions })).status).toBe(200);
    const after = await epochOf('roles');
    expect(after).not.toBeNull();
    expect(after).not.toBe(before);
  });

  test('the epoch changes when a session is shortened, but not when its idle time is extended', async () => {
    const person = await join(harness);
    const limit = async (): Promise<string | null> => {
      const answer = await fetch(`${harness.url}/internal/session-limit`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'x-caller-context': gatewayContext('identity', person.caller),
        },
        body: JSON.stringify({ seconds: 7_200, idle_seconds: 900 }),
      });
      expect(answer.status).toBe(204);
      return epochOf(person.id);
    };
    const before = await epochOf(person.id);
    const limited = await limit();
    expect(limited).not.toBe(before);
    harness.clock.advance(MINUTE_MS);
    expect(await limit()).toBe(limited);
    expect(await isLive(harness, person.token)).toBe(true);
  });

  test('the epoch marks a revocation from before its commit until after it', async () => {
    const person = await join(harness);
    const epochs = createCredentialEpochs({
      redis,
      namespace: harness.config.EVENTS_NAMESPACE,
      random: systemRandom,
      log,
    });
    // The process ends right after its commit.
    const store = createStore(harness.database, log, { ...epochs, advance: noEpochs.advance });
    await store.transaction((session) => store.tokens.revokeAll(session, person.id));
    expect(await isLive(harness, person.token)).toBe(false);
    expect(await epochOf(person.id)).toBe(REVOKING);
    // Another process repeats the revocation.
    expect((await send(person, 'POST', '/auth/logout')).status).toBe(204);
    expect(await epochOf(person.id)).not.toBe(REVOKING);
  });
});

describe('a write that names no revocation', () => {
  const id = { _id: 1 as never };
  // biome-ignore lint/suspicious/noExplicitAny: models by name have no type
  type AnyModel = Model<any>;
  const modelOf = (name: string) => harness.database.model(name) as never as AnyModel;
  const writes: readonly (readonly [string, string, (model: AnyModel) => PromiseLike<unknown>])[] = [
    ['deletes tokens', 'Token', (model) => model.deleteMany({ user_id: 1 })],
    [
      'changes the permissions of a token',
      'Token',
      (model) => model.updateOne(id, { $set: { permissions: [] } }),
    ],
    ['changes roles of a user', 'User', (model) => model.updateOne(id, { role_ids: [] })],
    ['erases a user', 'User', (model) => model.findOneAndUpdate(id, { $set: { erased_at: new Date(0) } })],
    ['changes a role', 'Role', (model) => model.updateOne(id, { $pull: { permissions: 'posts.view' } })],
    ['removes a second factor', 'SecondFactor', (model) => model.deleteOne(id)],
    ['arms a second factor', 'SecondFactor', (model) => model.updateOne(id, { $set: { secret: 'x' } })],
    ['writes many tokens', 'Token', (model) => model.bulkWrite([{ deleteOne: { filter: id } }])],
  ];
  test.each(writes)('a write is refused if it %s without naming a revocation', async (_name, name, write) => {
    createStore(harness.database, log, noEpochs);
    await expect(Promise.resolve(write(modelOf(name)))).rejects.toThrow('names no revocation');
  });

  const others: readonly (readonly [string, string, Record<string, unknown>])[] = [
    ['tokens of another user', 'Token', { user_id: 8 }],
    ['tokens of several users', 'Token', { user_id: trusted({ $in: [7, 8] }) }],
    ['a token by its hash alone', 'Token', { _id: 'a hash' }],
    ['the tokens of a grant alone', 'Token', { grant_id: 'a grant' }],
    ['expired tokens', 'Token', { expires_at: trusted({ $lt: new Date(0) }) }],
    ['another user', 'User', { _id: 8 }],
    ['users by another field', 'User', { referrer_user_id: 7 }],
    ['the second factor of another user', 'SecondFactor', { _id: 8 }],
    ['a role', 'Role', { _id: 7 }],
  ];
  test.each(others)('naming one user does not allow writes to %s', async (_name, name, filter) => {
    const store = createStore(harness.database, log, noEpochs);
    const write = store.transaction(async (session) => {
      store.revocations.add(session, 7);
      await modelOf(name).deleteMany(filter, { session });
    });
    await expect(write).rejects.toThrow('names no revocation');
  });

  test('a write without a revocation is refused even if another write in the transaction is allowed', async () => {
    const store = createStore(harness.database, log, noEpochs);
    const filter = { _id: 'a hash', user_id: 7 };
    const write = (isSecondAllowed: boolean) =>
      store.transaction(async (session) => {
        for (const isAllowed of [true, isSecondAllowed]) {
          const update = modelOf('Token').updateOne(
            filter,
            { $set: { expires_at: new Date() } },
            { session },
          );
          if (isAllowed) store.revocations.addNone(update);
          await update;
        }
      });
    await write(true);
    await expect(write(false)).rejects.toThrow('names no revocation');
  });

  test('saving or deleting a document that was read is refused', async () => {
    createStore(harness.database, log, noEpochs);
    const { id: userId } = await join(harness);
    const user = await modelOf('User').findOne({ _id: userId });
    user.set({ role_ids: [] });
    await expect(user.save()).rejects.toThrow('names no revocation');
    await expect(user.deleteOne()).rejects.toThrow('names no revocation');
  });

  test('a write to fields that introspection does not read needs no revocation', async () => {
    createStore(harness.database, log, noEpochs);
    await harness.database.model('User').updateOne({ _id: -1 }, { $inc: { pins: 1 } });
    await harness.database.model('Token').updateOne({ _id: 'none' }, { $set: { last_used_at: new Date(0) } });
  });
});

describe('the id of the epoch store', () => {
  const stored = () => redis.get(epochKey(harness.config.EVENTS_NAMESPACE, 'store'));
  const returnedId = async ({ token }: Person): Promise<string> =>
    (await harness.identity.call('Introspect', { token })).epoch_store_id;
  const isReturned = async (person: Person): Promise<boolean> =>
    (await returnedId(person)) === (await stored());

  test('introspection returns the store id, which is the same for every replica', async () => {
    const person = await join(harness);
    await eventually(() => isReturned(person));
    const { EVENTS_NAMESPACE: namespace } = harness.config;
    const replica = createCredentialEpochs({ redis, namespace, random: systemRandom, log });
    expect(await eventually(() => replica.storeId())).toBe(await stored());
  });

  test('the store id changes after it was lost', async () => {
    const person = await join(harness);
    await eventually(() => isReturned(person));
    const before = await stored();
    await redis.del(epochKey(harness.config.EVENTS_NAMESPACE, 'store'));
    await eventually(() => isReturned(person));
    expect(await stored()).not.toBe(before);
    expect(await stored()).not.toBeNull();
  });

  test('no store id is returned without a connection, because the next server may be another one', async () => {
    const person = await join(harness);
    await eventually(() => isReturned(person));
    proxy.cut();
    try {
      await eventually(async () => (await returnedId(person)) === '');
    } finally {
      proxy.restore();
    }
    await eventually(() => isReturned(person));
  });
});

describe('revocations while Redis does not respond', () => {
  test('a revocation waits longer than a gateway remembers a credential, but not as long as for a response', () => {
    expect(REVOCATION_WAIT_MS).toBeGreaterThan(RECORD_LIFETIME_MS);
    // The time that the gateway waits for a service beyond its deadline (30 s, less 24 s).
    expect(REVOCATION_WAIT_MS).toBeLessThan(6_000);
  });

  /** Whose deletion is pending, so that a refused code repeats the revocation. */
  const enterCode = async (person: Person): Promise<Answer> => {
    const body = { current_password: PASSWORD, confirmation_code: '000000' };
    return send(person, 'POST', '/auth/delete-account', body);
  };
  const joinPending = async (): Promise<Person> => {
    const person = await join(harness);
    const dates = { deletion_requested_at: new Date(), deletion_scheduled_at: new Date() };
    const set = { $set: { ...dates, standing: 'pending' } };
    await harness.database.collection('users').updateOne({ _id: person.id as never }, set);
    return person;
  };

  test('a code that is refused while a deletion is pending repeats the revocation', async () => {
    const person = await joinPending();
    const before = await epochOf(person.id);
    expect((await enterCode(person)).status).toBe(422);
    await eventually(async () => (await epochOf(person.id)) !== before);
  });

  test('a revocation waits until no gateway remembers the credential, but a refused code does not', async () => {
    const [person, other, pending] = [await join(harness), await join(harness), await joinPending()];
    proxy.hold();
    try {
      const startedAt = performance.now();
      const statuses: number[] = [];
      const [answer, slow] = await Promise.all([
        send(person, 'POST', '/auth/logout').finally(() => statuses.push(204)),
        // Its deadline passes while it waits, after it has committed.
        harness.send('POST', '/auth/logout', {
          as: other.caller,
          headers: { [REQUEST_TIMEOUT_HEADER]: '1200' },
        }),
        enterCode(pending).then(({ status }) => statuses.push(status)),
      ]);
      const took = performance.now() - startedAt;
      expect(statuses).toEqual([422, 204]);
      expect([answer.status, slow.status]).toEqual([204, 204]);
      expect(took).toBeGreaterThan(WAIT_MS);
      expect(took).toBeLessThan(WAIT_MS + 5_000);
      expect(await isLive(harness, person.token)).toBe(false);
    } finally {
      proxy.restore();
    }
    await eventually(
      async () =>
        (
          await fetch(`${harness.url}/health/ready`).then(
            (ready) => ready.json() as never as { dependencies: { redis: { state: string } } },
          )
        ).dependencies.redis.state === 'up',
    );
  });

  test('a revocation does not wait longer than Redis is unavailable', async () => {
    const person = await join(harness);
    proxy.cut();
    const answer = send(person, 'POST', '/auth/logout');
    await eventually(async () => !(await isLive(harness, person.token)));
    proxy.restore();
    expect((await answer).status).toBe(204);
    // Redis has acknowledged it.
    expect(await epochOf(person.id)).not.toBeNull();
    expect(await epochOf(person.id)).not.toBe(REVOKING);
  });

  test('a sign-in succeeds without Redis, and a code is refused', async () => {
    const [person, pending] = [await join(harness), await joinPending()];
    proxy.cut();
    try {
      expect((await logIn(harness, person.user.username)).status).toBe(200);
      expect((await enterCode(pending)).status).toBe(422);
    } finally {
      proxy.restore();
    }
  });
});
