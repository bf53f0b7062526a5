/** The end of the grace period (contract 2.2), by one replica and by three, with and without something in the way. */
import { DAY_MS, formatTimestamp } from '@fitness/shared/clock.ts';
import { eventually } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { type EventWatch, watchEvents } from './events.ts';
import {
  accountOf,
  addMember,
  makeDue,
  notificationsOf,
  openReplica,
  type Replica,
} from './purge-support.ts';
import { join, joinAs, logIn, startWorld, type World } from './support.ts';

let world: World;
let replica: Replica;
let events: EventWatch;
beforeAll(async () => {
  world = await startWorld();
  events = await watchEvents(world);
  replica = await openReplica(world.config, world.clock);
});
afterAll(async () => {
  await events.close();
  await replica.close();
  await world.close();
});
beforeEach(() => {
  world.outside.blockers = [];
  world.outside.brokenBlocker = undefined;
});

/** How often the others were told that the account is erased. */
const erasuresOf = async (id: number): Promise<number> =>
  (await events.about(id)).filter(({ type }) => type === 'identity.account.deleted').length;

const NOTHING = { erased: 0, postponed: 0, not_due: 0, failed: 0 };
let marks = 0;
const newMark = (): string => `mark${++marks}x`;
const due = async (): Promise<number> => {
  const id = await addMember(replica, newMark());
  await makeDue(replica, id);
  return id;
};

/** Every document of the service's database, as text. */
const everything = async (): Promise<string> => {
  const texts: string[] = [];
  for (const { name } of await world.database.listCollections()) {
    texts.push(JSON.stringify(await world.database.collection(name).find().toArray()));
  }
  return texts.join('\n');
};

describe('an account whose day has come, with nothing in the way', () => {
  test('is erased: nothing of the person is left in the database, and a row without a person stays', async () => {
    const mark = newMark();
    const person = await join(world, {
      username: `user.${mark}`,
      email: `${mark}@example.org`,
      phone: '+989371112233',
      first_name: `first ${mark}`,
      last_name: `last ${mark}`,
    });
    const profile = {
      height: 199,
      birth_date: '1971-03-04',
      gender: 'other',
      bank_account_number: 'IR062960000000100324200001',
    };
    expect((await world.send('PUT', '/auth/me', { as: person.caller, body: profile })).status).toBe(200);
    await world.send('POST', '/auth/tokens', { as: person.caller, body: { name: `token ${mark}` } });
    await world.identity.call('AttachLicense', { user_id: person.id, media_id: 7, filename: `${mark}.pdf` });
    const operator = await joinAs(world, 'operator');
    const review = { trainer_license_approved: false, trainer_license_rejection_reason: `because ${mark}` };
    await world.send('PUT', `/users/${person.id}`, { as: operator.caller, body: review });
    await replica.parts.codes.replace(person.id, 'deletion', {
      id: mark,
      hash: mark,
      expires_at: world.clock.now(),
      tries: 0,
    });
    await replica.parts.scores.save({ _id: person.id, score: 1, computed_at: world.clock.now() });
    const guest = await join(world, { referral_code: person.user.referral_code });
    await makeDue(replica, person.id);

    expect(await everything()).toContain(mark);
    expect(await replica.purge()).toEqual({ ...NOTHING, erased: 1 });

    const left = await everything();
    for (const gone of [
      mark,
      '989371112233',
      '9371112233',
      '1971-03-04',
      'IR0629',
      person.user.referral_code,
    ])
      expect(left).not.toContain(gone);
    expect(await accountOf(world, person.id)).toMatchObject({
      username: null,
      height: null,
      gender: null,
      erased_at: expect.any(Date),
    });
    for (const collection of ['tokens', 'notifications', 'login_keys'])
      expect(await world.database.collection(collection).countDocuments({ user_id: person.id })).toBe(0);
    for (const collection of ['confirmation_codes', 'referral_scores'])
      expect(await world.database.collection(collection).countDocuments({ _id: person.id as never })).toBe(0);
    // Who was invited was invited by somebody.
    expect(await accountOf(world, guest.id)).toMatchObject({ referrer_user_id: person.id });
  });

  test('is told of once, and is due no more', async () => {
    const id = await due();
    expect(await replica.purge()).toEqual({ ...NOTHING, erased: 1 });
    expect(await replica.purge()).toEqual(NOTHING);
    expect(await erasuresOf(id)).toBe(1);
  });

  test('signing in fails like an unknown account; the account is 404 and in no list; its names are free', async () => {
    const person = await join(world);
    const administrator = await joinAs(world, 'administrator');
    await makeDue(replica, person.id);
    await replica.purge();
    const unknown = await logIn(world, 'nobody.at.all');
    const { username, email, phone } = person.user;
    for (const login of [username, email, phone]) {
      const answer = await logIn(world, login);
      expect([answer.status, answer.text]).toEqual([422, unknown.text]);
    }
    expect((await world.send('GET', `/users/${person.id}`)).status).toBe(404);
    expect((await world.send('GET', `/users/${person.id}`, { as: administrator.caller })).status).toBe(404);
    const { body } = await world.send('GET', '/users?per_page=100', { as: administrator.caller });
    expect(body.data.map((user: { id: number }) => user.id)).not.toContain(person.id);
    expect((await join(world, { username, email, phone })).id).not.toBe(person.id);
  });

  test('is not touched a second early', async () => {
    const id = await addMember(replica, newMark());
    const scheduledAt = await makeDue(replica, id, -1_000);
    expect(await replica.purge()).toEqual(NOTHING);
    world.clock.advance(scheduledAt.getTime() - world.clock.now().getTime());
    expect(await replica.purge()).toEqual({ ...NOTHING, erased: 1 });
  });

  test('news that come too late are not delivered to nobody', async () => {
    const id = await due();
    await replica.purge();
    const late = { owner_user_id: id, gym_id: 1, gym_name: 'x', approved: false, rejection_reason: 'late' };
    const { deliver } = await import('../src/app/notifications.ts').then(({ createNotifications }) =>
      createNotifications({ ...replica.parts, store: replica.parts.notifications }),
    );
    await replica.parts.transact((session) =>
      deliver(session, { userId: id, type: 'gym_license_reviewed', data: late, at: world.clock.now() }),
    );
    expect(await notificationsOf(world, id)).toEqual([]);
  });

  test('the service does it by itself', async () => {
    const waiting = await startWorld({ PURGE_INTERVAL_MS: '50' });
    const other = await openReplica(waiting.config, waiting.clock);
    const id = await addMember(other, newMark());
    await makeDue(other, id);
    await eventually(async () => (await accountOf(waiting, id))?.erased_at !== null);
    await other.close();
    await waiting.close();
  });
});

describe('with something in the way', () => {
  test('blocked: postponed by a day, and told once a postponement, in the reader’s language', async () => {
    const person = await join(world);
    const scheduledAt = await makeDue(replica, person.id);
    world.outside.blockers = [
      { userId: person.id, code: 'pending_withdrawal', extras: { count: 1 } },
      { userId: person.id, code: 'gym_ownership', extras: { count: 2 } },
    ];
    expect(await replica.purge()).toEqual({ ...NOTHING, postponed: 1 });
    expect(await replica.purge()).toEqual(NOTHING);
    const tomorrow = new Date(scheduledAt.getTime() + DAY_MS);
    expect(await accountOf(world, person.id)).toMatchObject({
      erased_at: null,
      deletion_scheduled_at: tomorrow,
      deletion_requested_at: expect.any(Date),
    });
    const { body } = await world.send('GET', '/notifications', { as: person.caller });
    expect(body.data).toMatchObject([
      {
        type: 'account_deletion_postponed',
        body: expect.stringContaining(formatTimestamp(tomorrow)),
        data: {
          deletion_scheduled_at: formatTimestamp(tomorrow),
          blockers: ['gym_ownership', 'pending_withdrawal'],
        },
      },
    ]);
    expect(await erasuresOf(person.id)).toBe(0);

    world.clock.advance(DAY_MS);
    expect(await replica.purge()).toEqual({ ...NOTHING, postponed: 1 });
    expect(await notificationsOf(world, person.id)).toHaveLength(2);
    world.clock.advance(DAY_MS);
    world.outside.blockers = [];
    expect(await replica.purge()).toEqual({ ...NOTHING, erased: 1 });
  });

  test('found three days late it is postponed to the next day to come, not to one that is over', async () => {
    const id = await addMember(replica, newMark());
    const scheduledAt = await makeDue(replica, id, 3 * DAY_MS + 1_000);
    world.outside.blockers = [{ userId: id, code: 'gym_ownership', extras: { count: 1 } }];
    expect(await replica.purge()).toEqual({ ...NOTHING, postponed: 1 });
    expect(await accountOf(world, id)).toMatchObject({
      deletion_scheduled_at: new Date(scheduledAt.getTime() + 4 * DAY_MS),
    });
    expect(await notificationsOf(world, id)).toHaveLength(1);
  });

  test('a blocker that cannot be evaluated: left for the next round, neither postponed nor told', async () => {
    const id = await addMember(replica, newMark());
    const scheduledAt = await makeDue(replica, id);
    world.outside.brokenBlocker = 'unsettled_balance';
    expect(await replica.purge()).toEqual({ ...NOTHING, failed: 1 });
    expect(await accountOf(world, id)).toMatchObject({ deletion_scheduled_at: scheduledAt, erased_at: null });
    expect(await notificationsOf(world, id)).toEqual([]);
    world.outside.brokenBlocker = undefined;
    // The breaker of that blocker lets questions through again after its pause.
    await eventually(async () => (await replica.purge()).erased === 1, {
      timeoutMs: 30_000,
      intervalMs: 250,
    });
  });

  test('one that fails holds up none of those behind it', async () => {
    const ids = [await due(), await due(), await due()];
    world.outside.blockers = [{ userId: ids[0] ?? 0, code: 'gym_ownership', extras: { count: 'many' } }];
    expect(await replica.purge()).toEqual({ ...NOTHING, erased: 2, failed: 1 });
    world.outside.blockers = [];
    expect(await replica.purge()).toEqual({ ...NOTHING, erased: 1 });
  });

  test('a round ends early when the process stops', async () => {
    await due();
    expect(await replica.purge(AbortSignal.abort())).toEqual(NOTHING);
    expect(await replica.purge()).toEqual({ ...NOTHING, erased: 1 });
  });
});

test('three replicas over sixty accounts at once: each is erased, or postponed and told, exactly once', async () => {
  const replicas = [
    replica,
    await openReplica(world.config, world.clock),
    await openReplica(world.config, world.clock),
  ];
  const ids: number[] = [];
  for (let i = 0; i < 60; i += 1) ids.push(await due());
  const blocked = ids.filter((_, i) => i % 3 === 0);
  world.outside.blockers = blocked.map((userId) => ({ userId, code: 'gym_ownership', extras: { count: 1 } }));
  const rounds = await Promise.all(replicas.map(({ purge }) => purge()));
  const sum = (field: 'erased' | 'postponed' | 'failed') =>
    rounds.reduce((all, round) => all + round[field], 0);
  expect([sum('erased'), sum('postponed'), sum('failed')]).toEqual([40, 20, 0]);
  for (const id of ids) {
    const stays = blocked.includes(id);
    expect([id, (await accountOf(world, id))?.erased_at === null]).toEqual([id, stays]);
    expect(await erasuresOf(id)).toBe(stays ? 0 : 1);
    expect(await notificationsOf(world, id)).toHaveLength(stays ? 1 : 0);
  }
  await Promise.all(replicas.slice(1).map((other) => other.close()));
});
