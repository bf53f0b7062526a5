/** Unlimited data of an account is revoked and erased in steps, each within the limit of a transaction. */
import type { OauthClient } from '@fitness/contracts/testing/oauth-client.ts';
import { DAY_MS } from '@fitness/shared/kernel/clock.ts';
import { CHANGES_MAX } from '@fitness/shared/mongo/steps.ts';
import { monitored } from '@fitness/shared/testing/commands.ts';
import { fillLike } from '@fitness/shared/testing/fill.ts';
import { eventually, testConfig } from '@fitness/shared/testing/harness.ts';
import { type TransactionWatch, watchTransactions } from '@fitness/shared/testing/transactions.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createOauthUser, oauthOf } from './oauth-support.ts';
import { openReplica, type Replica } from './purge-support.ts';
import { type Harness, isLive, join, joinAs, logIn, PASSWORD, type Person, startHarness } from './support.ts';

/** More rows than two transactions may change. */
const MANY = 2_500;

let harness: Harness;
let replica: Replica;
let oauth: OauthClient;
let watch: TransactionWatch;
beforeAll(async () => {
  const { MONGODB_URI } = monitored({ MONGODB_URI: String(testConfig('identity').MONGODB_URI) });
  harness = await startHarness({ MONGODB_URI });
  watch = watchTransactions(harness.config.MONGODB_DATABASE);
  replica = await openReplica(harness.config, harness.clock);
  oauth = oauthOf(harness);
});
afterAll(async () => {
  await replica.close();
  await harness.close();
});

const countOf = (collection: string, { id }: Pick<Person, 'id'>): Promise<number> =>
  harness.database.collection(collection).countDocuments({ user_id: id });

/** Copies the person's session, as that many sign-ins would. */
const addSessions = ({ id }: Person): Promise<void> =>
  fillLike(
    harness.database,
    'tokens',
    (n) => ({ _id: `session ${n} of ${id}`, token_number: 1_000_000 * id + n }),
    { user_id: id },
    MANY,
  );

const expectBounded = (): void => expect(watch.largest()).toBeLessThanOrEqual(CHANGES_MAX);

test('a new password ends all other sessions, even more than a transaction may delete', async () => {
  const person = await join(harness);
  const other = (await logIn(harness, person.user.username)).body.token;
  await addSessions(person);
  const body = { current_password: PASSWORD, password: 'another horse battery' };
  const answer = await harness.send('PUT', '/auth/change-password', { as: person.caller, body });
  expect(answer.status).toBe(200);
  expect([await isLive(harness, person.token), await isLive(harness, other)]).toEqual([true, false]);
  expect(await countOf('tokens', person)).toBe(1);
  expectBounded();
});

test('a grant ends with everything issued under it, even more than a transaction may delete', async () => {
  const person = await createOauthUser(harness);
  const { accessToken, clientId, refreshToken } = await oauth.connect(person);
  await fillLike(
    harness.database,
    'tokens',
    (n) => ({ _id: `access ${n} of ${person.id}` }),
    { user_id: person.id, kind: 'oauth' },
    MANY,
  );
  const [grant] = (await harness.send('GET', '/auth/grants', { as: person.caller })).body.data;
  expect((await harness.send('DELETE', `/auth/grants/${grant.id}`, { as: person.caller })).status).toBe(204);
  expect(await isLive(harness, accessToken)).toBe(false);
  expect((await oauth.refresh(clientId, refreshToken)).status).toBe(400);
  expect(await countOf('tokens', person)).toBe(1);
  expect(await isLive(harness, person.token)).toBe(true);
  expectBounded();
});

test('an account with very many rows is erased at once, and its rows in steps', async () => {
  const person = await createOauthUser(harness);
  const administrator = await joinAs(harness, 'administrator');
  await oauth.connect(person);
  await addSessions(person);
  await harness.send('POST', '/auth/tokens', { as: person.caller, body: { name: 'ci' } });
  const notifications = harness.database.collection('notifications');
  await eventually(async () => (await notifications.countDocuments({ user_id: person.id })) > 0);
  const first = 1_000_000 * person.id;
  await fillLike(
    harness.database,
    'notifications',
    (n) => ({ _id: first + n }),
    { user_id: person.id },
    MANY,
  );
  const keys = Array.from({ length: MANY }, (_, index) => ({
    _id: `key ${index}` as never,
    user_id: person.id,
    expires_at: new Date(harness.clock.now().getTime() + DAY_MS),
  }));
  await harness.database.collection('idempotency_keys').insertMany(keys);

  const answer = await harness.send('DELETE', `/users/${person.id}`, { as: administrator.caller });
  expect(answer.status).toBe(204);
  expect(await isLive(harness, person.token)).toBe(false);
  for (const collection of ['oauth_records', 'tokens', 'devices', 'notifications', 'idempotency_keys'])
    await eventually(async () => (await countOf(collection, person)) === 0);
  expect(await countOf('tokens', administrator)).toBe(1);
  expectBounded();
});

test('no credential of an erased account is accepted while its rows are still stored', async () => {
  const person = await createOauthUser(harness);
  const { accessToken, clientId, refreshToken } = await oauth.connect(person);
  const { store, clock } = replica.dependencies;
  // Erases without the event that deletes the rows.
  await store.transaction((session) => store.users.erase(session, person.id, clock.now()));
  expect(await countOf('tokens', person)).toBe(2);
  expect([await isLive(harness, person.token), await isLive(harness, accessToken)]).toEqual([false, false]);
  expect((await oauth.refresh(clientId, refreshToken)).status).toBe(400);
  expect((await logIn(harness, person.login)).status).toBe(422);
});
