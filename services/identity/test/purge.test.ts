/** The end of the grace period, with one and with three replicas, with and without blockers. */
import { DAY_MS, formatTimestamp } from '@fitness/shared/kernel/clock.ts';
import { formatInstant } from '@fitness/shared/kernel/i18n/translate.ts';
import { eventually } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { startIdentity } from '../src/service.ts';
import { type EventWatch, watchEvents } from './events.ts';
import {
  accountOf,
  addDueMembers,
  addMember,
  makeDue,
  notificationsOf,
  openReplica,
  type Replica,
} from './purge-support.ts';
import { type Harness, join, joinAs, logIn, PASSWORD, startHarness } from './support.ts';

let harness: Harness;
let replica: Replica;
let events: EventWatch;
beforeAll(async () => {
  harness = await startHarness();
  events = await watchEvents(harness);
  replica = await openReplica(harness.config, harness.clock);
});
afterAll(async () => {
  await events.close();
  await replica.close();
  await harness.close();
});
beforeEach(() => {
  harness.standIns.blockers = [];
  harness.standIns.brokenBlocker = undefined;
});

/** The number of published events about the erasure of the account. */
const erasuresOf = async (id: number): Promise<number> =>
  (await events.publishedAbout(id)).filter(({ type }) => type === 'identity.account.deleted').length;

const NOTHING = { erased: 0, postponed: 0, not_due: 0, failed: 0 };
let marks = 0;
const newMark = (): string => `mark${++marks}x`;
const addDueMember = async (): Promise<number> => {
  const id = await addMember(replica, newMark());
  await makeDue(replica, id);
  return id;
};

/** All documents of the service's database as text. */
const databaseText = async (): Promise<string> => {
  const texts: string[] = [];
  for (const { name } of await harness.database.listCollections()) {
    texts.push(JSON.stringify(await harness.database.collection(name).find().toArray()));
  }
  return texts.join('\n');
};

describe('a due account without blockers', () => {
  test('a due account is erased: only an anonymous row without personal data is left', async () => {
    const mark = newMark();
    const person = await join(harness, {
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
      current_password: PASSWORD,
    };
    expect((await harness.send('PUT', '/auth/me', { as: person.caller, body: profile })).status).toBe(200);
    await harness.send('POST', '/auth/tokens', { as: person.caller, body: { name: `token ${mark}` } });
    await harness.send('POST', '/auth/login', {
      body: { login: person.user.username, password: PASSWORD },
      headers: { 'user-agent': `browser ${mark}`, 'x-client-address': '198.51.100.77' },
    });
    const body = { current_password: PASSWORD };
    await harness.send('POST', '/auth/second-factor', { as: person.caller, body });
    await harness.identity.call('AttachLicense', {
      user_id: person.id,
      media_id: 7,
      filename: `${mark}.pdf`,
    });
    const operator = await joinAs(harness, 'operator');
    const review = { trainer_license_approved: false, trainer_license_rejection_reason: `because ${mark}` };
    await harness.send('PUT', `/users/${person.id}`, { as: operator.caller, body: review });
    await replica.dependencies.store.codes.replace(person.id, 'deletion', {
      id: mark,
      hash: mark,
      expires_at: harness.clock.now(),
      tries: 0,
    });
    await replica.dependencies.store.scores.save({
      _id: person.id,
      score: 1,
      computed_at: harness.clock.now(),
    });
    const guest = await join(harness, { referral_code: person.user.referral_code });
    await makeDue(replica, person.id);

    expect(await databaseText()).toContain(mark);
    expect(await replica.purge()).toEqual({ ...NOTHING, erased: 1 });

    const left = await databaseText();
    for (const personal of [
      mark,
      '989371112233',
      '9371112233',
      '1971-03-04',
      'IR0629',
      person.user.referral_code,
    ])
      expect(left).not.toContain(personal);
    expect(await accountOf(harness, person.id)).toMatchObject({
      username: null,
      height: null,
      gender: null,
      erased_at: expect.any(Date),
    });
    for (const collection of ['tokens', 'notifications', 'login_keys'])
      expect(await harness.database.collection(collection).countDocuments({ user_id: person.id })).toBe(0);
    for (const collection of ['confirmation_codes', 'referral_scores', 'second_factors'])
      expect(await harness.database.collection(collection).countDocuments({ _id: person.id as never })).toBe(
        0,
      );
    // The users that the account referred keep their referrer.
    expect(await accountOf(harness, guest.id)).toMatchObject({ referrer_user_id: person.id });
  });

  test('a due account is erased once, and one event is published', async () => {
    const id = await addDueMember();
    expect(await replica.purge()).toEqual({ ...NOTHING, erased: 1 });
    expect(await replica.purge()).toEqual(NOTHING);
    expect(await erasuresOf(id)).toBe(1);
  });

  test('an erased account looks unknown everywhere, and its names are available', async () => {
    const person = await join(harness);
    const administrator = await joinAs(harness, 'administrator');
    await makeDue(replica, person.id);
    await replica.purge();
    const unknown = await logIn(harness, 'nobody.at.all');
    const { username, email, phone } = person.user;
    for (const login of [username, email, phone]) {
      const answer = await logIn(harness, login);
      expect([answer.status, answer.text]).toEqual([422, unknown.text]);
    }
    expect((await harness.send('GET', `/users/${person.id}`)).status).toBe(404);
    expect((await harness.send('GET', `/users/${person.id}`, { as: administrator.caller })).status).toBe(404);
    const { body } = await harness.send('GET', '/users?per_page=100', { as: administrator.caller });
    expect(body.data.map((user: { id: number }) => user.id)).not.toContain(person.id);
    expect((await join(harness, { username, email, phone })).id).not.toBe(person.id);
  });

  test('an account is not erased a second early', async () => {
    const id = await addMember(replica, newMark());
    const scheduledAt = await makeDue(replica, id, -1_000);
    expect(await replica.purge()).toEqual(NOTHING);
    harness.clock.advance(scheduledAt.getTime() - harness.clock.now().getTime());
    expect(await replica.purge()).toEqual({ ...NOTHING, erased: 1 });
  });

  test('an erased account receives no notifications', async () => {
    const id = await addDueMember();
    await replica.purge();
    const late = { gym_id: 1, gym_name: 'x', approved: false, reason: 'late' };
    const { createDeliverNotification } = await import('../src/app/notifications/deliver-notification.ts');
    const deliver = createDeliverNotification(replica.dependencies);
    await replica.dependencies.store.transaction((session) =>
      deliver(session, { userId: id, type: 'gym_license_reviewed', data: late, at: harness.clock.now() }),
    );
    expect(await notificationsOf(harness, id)).toEqual([]);
  });

  test('the scheduled job of a service erases a due account', async () => {
    const service = await startIdentity(
      { ...harness.config, PURGE_INTERVAL_MS: 50 },
      { clock: harness.clock },
    );
    const id = await addDueMember();
    await eventually(async () => (await accountOf(harness, id))?.erased_at !== null);
    await service.close();
  });
});

describe('a due account with blockers', () => {
  test('a blocked deletion is postponed by a day, with a notification each time', async () => {
    const person = await join(harness);
    const scheduledAt = await makeDue(replica, person.id);
    harness.standIns.blockers = [
      { userId: person.id, code: 'pending_withdrawal', extras: { count: 1 } },
      { userId: person.id, code: 'gym_ownership', extras: { count: 2 } },
    ];
    expect(await replica.purge()).toEqual({ ...NOTHING, postponed: 1 });
    expect(await replica.purge()).toEqual(NOTHING);
    const tomorrow = new Date(scheduledAt.getTime() + DAY_MS);
    expect(await accountOf(harness, person.id)).toMatchObject({
      erased_at: null,
      deletion_scheduled_at: tomorrow,
      deletion_requested_at: expect.any(Date),
    });
    const { body } = await harness.send('GET', '/notifications', { as: person.caller });
    expect(body.data).toMatchObject([
      {
        type: 'account_deletion_postponed',
        body: expect.stringContaining(formatInstant('en', tomorrow)),
        data: {
          deletion_scheduled_at: formatTimestamp(tomorrow),
          blockers: ['gym_ownership', 'pending_withdrawal'],
        },
      },
    ]);
    expect(await erasuresOf(person.id)).toBe(0);

    harness.clock.advance(DAY_MS);
    expect(await replica.purge()).toEqual({ ...NOTHING, postponed: 1 });
    expect(await notificationsOf(harness, person.id)).toHaveLength(2);
    harness.clock.advance(DAY_MS);
    harness.standIns.blockers = [];
    expect(await replica.purge()).toEqual({ ...NOTHING, erased: 1 });
  });

  test('a blocked deletion that is three days overdue is postponed to a future date', async () => {
    const id = await addMember(replica, newMark());
    const scheduledAt = await makeDue(replica, id, 3 * DAY_MS + 1_000);
    harness.standIns.blockers = [{ userId: id, code: 'gym_ownership', extras: { count: 1 } }];
    expect(await replica.purge()).toEqual({ ...NOTHING, postponed: 1 });
    expect(await accountOf(harness, id)).toMatchObject({
      deletion_scheduled_at: new Date(scheduledAt.getTime() + 4 * DAY_MS),
    });
    expect(await notificationsOf(harness, id)).toHaveLength(1);
  });

  test('a blocker that cannot be evaluated leaves the account for the next round, unnotified', async () => {
    const id = await addMember(replica, newMark());
    const scheduledAt = await makeDue(replica, id);
    harness.standIns.brokenBlocker = 'unsettled_balance';
    expect(await replica.purge()).toEqual({ ...NOTHING, failed: 1 });
    expect(await accountOf(harness, id)).toMatchObject({
      deletion_scheduled_at: scheduledAt,
      erased_at: null,
    });
    expect(await notificationsOf(harness, id)).toEqual([]);
    harness.standIns.brokenBlocker = undefined;
    // The circuit breaker of that blocker closes after a delay.
    await eventually(async () => (await replica.purge()).erased === 1, {
      timeoutMs: 30_000,
      intervalMs: 250,
    });
  });

  test('an account whose purge fails does not delay later accounts', async () => {
    const ids = [await addDueMember(), await addDueMember(), await addDueMember()];
    harness.standIns.blockers = [{ userId: ids[0] ?? 0, code: 'gym_ownership', extras: { count: 'many' } }];
    expect(await replica.purge()).toEqual({ ...NOTHING, erased: 2, failed: 1 });
    harness.standIns.blockers = [];
    expect(await replica.purge()).toEqual({ ...NOTHING, erased: 1 });
  });

  test('a process that stops leaves due accounts for the next round', async () => {
    await addDueMember();
    expect(await replica.purge(AbortSignal.abort())).toEqual(NOTHING);
    expect(await replica.purge()).toEqual({ ...NOTHING, erased: 1 });
  });
});

test('three replicas erase or postpone each of six accounts exactly once', async () => {
  const replicas = [
    replica,
    await openReplica(harness.config, harness.clock),
    await openReplica(harness.config, harness.clock),
  ];
  const due = await addDueMembers(
    replica,
    Array.from({ length: 6 }, () => newMark()),
  );
  const ids = due.map(({ userId }) => userId);
  const blocked = ids.filter((_, i) => i % 3 === 0);
  harness.standIns.blockers = blocked.map((userId) => ({
    userId,
    code: 'gym_ownership',
    extras: { count: 1 },
  }));
  const rounds = await Promise.all(replicas.map(({ purge }) => purge()));
  const sum = (field: 'erased' | 'postponed' | 'failed') =>
    rounds.reduce((all, round) => all + round[field], 0);
  expect([sum('erased'), sum('postponed'), sum('failed')]).toEqual([4, 2, 0]);
  await events.settled();
  for (const id of ids) {
    const isBlocked = blocked.includes(id);
    const erasures = events.received(id).filter(({ type }) => type === 'identity.account.deleted');
    expect([id, (await accountOf(harness, id))?.erased_at === null]).toEqual([id, isBlocked]);
    expect(erasures).toHaveLength(isBlocked ? 0 : 1);
    expect(await notificationsOf(harness, id)).toHaveLength(isBlocked ? 1 : 0);
  }
  await Promise.all(replicas.slice(1).map((other) => other.close()));
});
