/** After a restore from a backup, exactly the accounts in the journal are erased again, and no credential works. */
import { DAY_MS, MINUTE_MS } from '@fitness/shared/kernel/clock.ts';
import { eventually } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { type EventWatch, watchEvents } from './events.ts';
import { accountOf, makeDue, openReplica, type Replica } from './purge-support.ts';
import { type Harness, isLive, join, joinAs, logIn, type Person, startHarness } from './support.ts';

let harness: Harness;
let replica: Replica;
let events: EventWatch;
let operator: Person;
beforeAll(async () => {
  harness = await startHarness();
  events = await watchEvents(harness);
  replica = await openReplica(harness.config, harness.clock);
  operator = await joinAs(harness, 'operator');
});
afterAll(async () => {
  await events.close();
  await replica.close();
  await harness.close();
});

type Rows = Map<string, Record<string, unknown>[]>;

const backUp = async (): Promise<Rows> => {
  const rows: Rows = new Map();
  for (const { name } of await harness.database.listCollections()) {
    rows.set(name, (await harness.database.collection(name).find().toArray()) as never);
  }
  return rows;
};

/** Restores row by row, because the running service must not find an empty collection. */
const restore = async (rows: Rows): Promise<void> => {
  for (const { name } of await harness.database.listCollections()) {
    const collection = harness.database.collection(name);
    const stored = rows.get(name) ?? [];
    await collection.deleteMany({ _id: { $nin: stored.map(({ _id }) => _id) } } as never);
    for (const row of stored) await collection.replaceOne({ _id: row._id } as never, row, { upsert: true });
  }
};

const erasureEvents = async (id: number) =>
  (await events.publishedAbout(id)).filter(({ type }) => type === 'identity.account.deleted');
const erasuresOf = async (id: number): Promise<number> => (await erasureEvents(id)).length;

const erase = async (person: Person): Promise<void> => {
  const answer = await harness.send('DELETE', `/users/${person.id}`, { as: operator.caller });
  expect(answer.status).toBe(204);
};

const NOTHING = { erased: 0, published: 0, scheduled: 0, unknown: 0 };
let earlier = NOTHING;
/** Repeats the erasures. `added`: the results without the entries of earlier tests. */
const repeat = async () => {
  const count = await replica.useCases.repeatErasures('Sara');
  const added = Object.fromEntries(
    Object.entries(count).map(([name, value]) => [name, value - earlier[name as keyof typeof earlier]]),
  );
  return { count, added };
};
beforeEach(async () => {
  ({ count: earlier } = await repeat());
});

test('an account that was erased after the backup is erased again, each time with an audit entry', async () => {
  const person = await join(harness);
  const other = await join(harness);
  const backup = await backUp();
  await erase(person);
  // The restore also replaces the outbox.
  await eventually(async () => (await erasuresOf(person.id)) === 1);
  for (let round = 1; round <= 2; round += 1) {
    await restore(backup);
    expect((await logIn(harness, person.user.username)).status).toBe(200);
    expect((await repeat()).added).toMatchObject({ erased: 1, scheduled: 0 });
    expect((await logIn(harness, person.user.username)).status).toBe(422);
    expect((await accountOf(harness, person.id))?.username).toBeNull();
    expect((await accountOf(harness, other.id))?.username).toBe(other.user.username);
    const [entry] = await harness.database
      .collection('audit_entries')
      .find({ action: 'user.delete', subject_id: person.id })
      .toArray();
    expect(entry?.actor_id).toBeNull();
    expect(entry?.after).toContain('Sara');
    await eventually(async () => (await erasuresOf(person.id)) === 1 + round);
  }
  // Only the repeated erasures say so: the wallet returns none of the money in a restored balance.
  const [first, ...repeated] = (await erasureEvents(person.id)).map(({ data }) => data);
  expect(first).not.toHaveProperty('is_repeated');
  for (const data of repeated) expect(data).toHaveProperty('is_repeated', true);
  // Another run finds nothing left to erase, and publishes the event again.
  expect((await repeat()).added).toMatchObject({ erased: 0 });
});

test('a deletion that is pending in the backup gets the whole grace period again', async () => {
  const { clock, graceDays } = replica.dependencies;
  const [overdue, soon] = [await join(harness), await join(harness)];
  await makeDue(replica, overdue.id);
  await makeDue(replica, soon.id, -DAY_MS);
  const requestedAt = (await accountOf(harness, overdue.id))?.deletion_requested_at;
  const backup = await backUp();
  for (const { id } of [overdue, soon]) await replica.useCases.cancelDeletion(id);
  await restore(backup);
  const sent = async (id: number) =>
    (await events.publishedAbout(id)).filter(({ type }) => type === 'identity.account.deletion_requested');
  const before = (await sent(overdue.id)).length;
  const end = Math.floor((clock.now().getTime() + graceDays * DAY_MS) / 1_000) * 1_000;
  expect(await replica.useCases.postponeRestoredDeletions()).toBe(2);
  // A repetition finds nothing that is due earlier.
  expect(await replica.useCases.postponeRestoredDeletions()).toBe(0);
  await replica.purge();
  for (const { id } of [overdue, soon])
    expect(await accountOf(harness, id)).toMatchObject({
      erased_at: null,
      deletion_scheduled_at: new Date(end),
    });
  expect((await accountOf(harness, overdue.id))?.deletion_requested_at).toEqual(requestedAt);
  // The members are notified, because they believe that it was cancelled.
  await eventually(async () => (await sent(overdue.id)).length === before + 1);
  await replica.useCases.cancelDeletion(overdue.id);
  expect((await accountOf(harness, overdue.id))?.deletion_scheduled_at).toBeNull();
});

test('an account that got the id of an erased one after the restore is not erased', async () => {
  const backup = await backUp();
  const gone = await join(harness);
  await erase(gone);
  await restore(backup);
  harness.clock.advance(MINUTE_MS);
  const later = await join(harness);
  expect(later.id).toBe(gone.id);
  expect((await repeat()).added).toMatchObject({ erased: 0, scheduled: 0, unknown: 1 });
  expect((await accountOf(harness, later.id))?.username).toBe(later.user.username);
});

test('an erasure that may not have been committed is scheduled, so that the member can cancel', async () => {
  const { store, erasureJournal, clock } = replica.dependencies;
  const live = await join(harness);
  const pending = await join(harness);
  await makeDue(replica, pending.id);
  for (const { id } of [live, pending]) {
    const created = (await accountOf(harness, id))?.created_at as Date;
    await erasureJournal.begin(id, { user_id: id, created_at: created, erased_at: clock.now() });
  }
  // The job of a service that was started too early compares them with the backup, in which they are live.
  harness.clock.advance(5 * MINUTE_MS);
  await replica.useCases.settleErasures();
  expect((await repeat()).added).toMatchObject({ erased: 0, scheduled: 2 });
  await replica.useCases.postponeRestoredDeletions();
  // The purge runs before the members are notified.
  await replica.purge();
  for (const { id } of [live, pending]) {
    const account = await accountOf(harness, id);
    expect(account?.erased_at).toBeNull();
    expect(account?.deletion_scheduled_at.getTime()).toBeGreaterThan(clock.now().getTime() + MINUTE_MS);
  }
  await replica.useCases.cancelDeletion(live.id);
  expect(await store.users.find(live.id)).not.toBeNull();
});

test('every credential of the backup ends: sessions, personal tokens, grants, codes and devices', async () => {
  const person = await join(harness);
  const { body: created } = await harness.send('POST', '/auth/tokens', {
    as: person.caller,
    body: { name: 'ci' },
  });
  await harness.send('POST', '/auth/forgot-password', { body: { login: person.user.phone } });
  const { database } = harness;
  // The code is made after the response, which does not tell whether there is an account.
  await eventually(async () => (await database.collection('confirmation_codes').countDocuments()) === 1);
  await database.collection('oauth_records').insertOne({
    _id: 'Grant:restored' as never,
    user_id: person.id,
    grant_id: 'restored',
    grant_number: 1,
    payload: '{}',
    expires_at: new Date(Date.now() + MINUTE_MS),
  });
  expect(await isLive(harness, created.token)).toBe(true);
  expect(await replica.useCases.endRestoredCredentials(() => undefined)).toBeGreaterThan(3);
  expect(await isLive(harness, person.token)).toBe(false);
  expect(await isLive(harness, created.token)).toBe(false);
  for (const name of ['tokens', 'oauth_records', 'confirmation_codes', 'devices'])
    expect([name, await database.collection(name).countDocuments()]).toEqual([name, 0]);
  expect((await logIn(harness, person.user.username)).status).toBe(200);
});
