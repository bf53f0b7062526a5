import { caller } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openReplica } from './purge-support.ts';
import { setUp } from './second-factor-support.ts';
import {
  giveRoles,
  type Harness,
  isLive,
  join,
  joinAs,
  logIn,
  type Person,
  registration,
  startHarness,
} from './support.ts';

let harness: Harness;
let operator: Person;
let administrator: Person;
beforeAll(async () => {
  harness = await startHarness();
  operator = await joinAs(harness, 'operator');
  administrator = await joinAs(harness, 'administrator');
});
afterAll(() => harness.close());

const put = (as: Person, id: number | string, body: unknown) =>
  harness.send('PUT', `/users/${id}`, { as: as.caller, body });
const stored = (id: number) => harness.database.collection('users').findOne({ _id: id as never });

describe('PUT /users/{id}', () => {
  test('an operator changes profile fields without the password and gets the full resource', async () => {
    const person = await join(harness);
    const fresh = registration();
    const changes = {
      first_name: 'Ahmad',
      last_name: 'Shamlou',
      username: fresh.username,
      email: fresh.email,
      phone: fresh.phone,
      height: 180,
      birth_date: '1925-12-12',
      gender: 'male',
      bank_account_number: 'IR820540102680020817909002',
    };
    const { status, body } = await put(operator, person.id, changes);
    expect(status).toBe(200);
    expect(body).toEqual({ user: { ...person.user, ...changes } });
    expect((await logIn(harness, String(fresh.phone))).body.user.id).toBe(person.id);
  });

  test('a valid bank account is accepted in any spelling, and the stored one as it is', async () => {
    const person = await join(harness);
    const set = async (bank_account_number: string) => {
      const { status, body } = await put(operator, person.id, { bank_account_number });
      return [status, body.user?.bank_account_number ?? Object.keys(body.errors)];
    };
    expect(await set('IR820540102680020817909003')).toEqual([422, ['bank_account_number']]);
    expect(await set('IR82 0540 1026 8002 0817 9090 02')).toEqual([200, 'IR820540102680020817909002']);
    await harness.database
      .collection('users')
      .updateOne({ _id: person.id as never }, { $set: { bank_account_number: 'IR-1' } });
    expect(await set('IR-1')).toEqual([200, 'IR-1']);
  });

  test('the update ignores is_trainer, is_gym_owner, deletion timestamps and the password', async () => {
    const person = await join(harness);
    const { status, body } = await put(operator, person.id, {
      is_trainer: true,
      is_gym_owner: true,
      deletion_requested_at: '2026-01-01 00:00:00',
      deletion_scheduled_at: '2026-01-01 00:00:00',
      password: 'chosen by somebody else',
      referrer_user_id: operator.id,
    });
    expect(status).toBe(200);
    expect(body.user).toEqual(person.user);
    expect((await logIn(harness, person.user.username)).status).toBe(200);
  });

  test('an update without any known field changes nothing', async () => {
    const person = await join(harness);
    const before = await stored(person.id);
    for (const body of [{}, { version: 9, is_trainer: true }]) {
      const answer = await put(operator, person.id, body);
      expect([answer.status, answer.body.user]).toEqual([200, person.user]);
      expect(await stored(person.id)).toEqual(before);
    }
  });

  test('a guest gets 401, and a caller without users.update_any gets 403 before the body is validated', async () => {
    const person = await join(harness);
    expect((await harness.send('PUT', `/users/${person.id}`, { body: {} })).status).toBe(401);
    expect((await put(person, operator.id, { height: 'x' })).status).toBe(403);
  });

  test('an unknown or malformed id is rejected with 404, and before that invalid fields with 422', async () => {
    expect((await put(operator, 999_999_999, { height: 180 })).status).toBe(404);
    expect((await put(operator, 'x', { height: 180 })).status).toBe(404);
    expect((await put(operator, 999_999_999, { height: 1 })).status).toBe(422);
  });

  test('an invalid value is rejected with 422 under its field', async () => {
    const person = await join(harness);
    for (const [field, body] of [
      ['role_ids', { role_ids: [999] }],
      ['role_ids', { role_ids: 'operator' }],
      ['height', { height: 1 }],
      ['birth_date', { birth_date: '2999-01-01' }],
      ['birth_date', { birth_date: '1899-12-31' }],
      ['first_name', { first_name: '\ud800' }],
      ['trainer_license_rejection_reason', { trainer_license_rejection_reason: '\ud800' }],
      ['trainer_license_approved', { trainer_license_approved: true }],
      ['trainer_license_approved', { trainer_license_approved: false }],
      ['trainer_license_approved', { trainer_license_approved: 'yes' }],
      ['trainer_license_rejection_reason', { trainer_license_rejection_reason: 'x'.repeat(2_001) }],
      ['trainer_license_image', { trainer_license_image: 'x.png' }],
    ] as const) {
      const answer = await put(operator, person.id, body);
      expect([body, answer.status, Object.keys(answer.body.errors)]).toEqual([body, 422, [field]]);
    }
  });

  test('a value of another account is rejected with 422 under its field', async () => {
    const [person, other] = [await join(harness), await join(harness)];
    const { status, body } = await put(operator, person.id, { email: other.user.email });
    expect([status, Object.keys(body.errors)]).toEqual([422, ['email']]);
  });
});

describe('the limits of an operator’s permissions', () => {
  test('an account with a permission that the caller lacks cannot be changed', async () => {
    const { status } = await put(operator, administrator.id, { first_name: 'Fallen' });
    expect(status).toBe(403);
    expect((await stored(administrator.id))?.first_name).toBe('Nima');
    const restricted = { ...operator, caller: caller(operator.id, ['users.update_any']) };
    const member = await join(harness);
    expect((await put(restricted, member.id, { first_name: 'X' })).status).toBe(403);
  });

  test('a role with a permission that the caller lacks cannot be assigned, even to oneself', async () => {
    const person = await join(harness);
    expect((await put(operator, person.id, { role_ids: [1, 3] })).status).toBe(403);
    expect((await put(operator, operator.id, { role_ids: [3] })).status).toBe(403);
    expect((await stored(person.id))?.role_ids).toEqual([1]);
  });

  test('a role manager can assign other roles, which apply from the next request on', async () => {
    const person = await join(harness);
    const { status, body } = await put(administrator, person.id, { role_ids: [1, 2, 2] });
    expect(status).toBe(200);
    expect(body.user.roles.map((role: { name: string }) => role.name)).toEqual(['member', 'operator']);
    const { permissions } = await harness.identity.call('Introspect', { token: person.token });
    expect(permissions).toContain('users.delete');
    expect(await isLive(harness, person.token)).toBe(true);
    const withoutRoles = await put(administrator, person.id, { role_ids: [] });
    expect(withoutRoles.body.user.roles).toEqual([]);
  });

  test('a role that gains a permission that the caller lacks during the request is not assigned', async () => {
    const person = await join(harness);
    const roles = harness.database.collection('roles');
    const replica = await openReplica(harness.config, harness.clock, (dependencies) => ({
      ...dependencies,
      store: {
        ...dependencies.store,
        // Runs after the permissions were compared and before anything is written.
        transaction: async (work) => {
          await roles.updateOne({ _id: 2 as never }, { $push: { permissions: 'roles.manage' as never } });
          return dependencies.store.transaction(work);
        },
      },
    }));
    try {
      const assign = replica.useCases.updateUser(operator.caller, person.id, { role_ids: [2] }, 'en');
      await expect(assign).rejects.toMatchObject({ kind: 'forbidden' });
      expect((await stored(person.id))?.role_ids).toEqual([1]);
    } finally {
      await replica.close();
      await roles.updateOne({ _id: 2 as never }, { $pull: { permissions: 'roles.manage' as never } });
    }
  });

  test('an account that gains a permission that the caller lacks is never changed afterwards', async () => {
    const person = await join(harness);
    const edits = Array.from({ length: 6 }, (_, index) => put(operator, person.id, { height: 100 + index }));
    const [raised, ...answers] = await Promise.all([
      put(administrator, person.id, { role_ids: [3] }),
      ...edits,
    ]);
    expect(raised?.status).toBe(200);
    for (const answer of answers) expect([200, 403]).toContain(answer.status);
    expect((await put(operator, person.id, { height: 299 })).status).toBe(403);
  });
});

describe('operators who do not manage roles', () => {
  const changesOf = (body: { user: Record<string, unknown> }) => body.user;
  const removeFactor = (as: Person, id: number) =>
    harness.send('DELETE', `/users/${id}/second-factor`, { as: as.caller });
  const remove = (as: Person, id: number) => harness.send('DELETE', `/users/${id}`, { as: as.caller });

  test('an operator can neither change nor delete a colleague’s account, nor its second factor', async () => {
    const colleague = await joinAs(harness, 'operator');
    await harness.identity.call('AttachLicense', { user_id: colleague.id, media_id: 40, filename: 'l.pdf' });
    await setUp(harness, colleague);
    const before = await stored(colleague.id);
    const phone = String(registration().phone);
    for (const body of [
      { phone },
      { email: String(registration().email) },
      { bank_account_number: null },
      { first_name: 'Fallen' },
      { trainer_license_approved: true },
      { trainer_license_image: null },
      { role_ids: [1] },
      {},
    ])
      expect([body, (await put(operator, colleague.id, body)).status]).toEqual([body, 403]);
    expect((await removeFactor(operator, colleague.id)).status).toBe(403);
    expect((await remove(operator, colleague.id)).status).toBe(403);
    expect(await stored(colleague.id)).toEqual(before);
    expect(
      await harness.database.collection('second_factors').countDocuments({ _id: colleague.id as never }),
    ).toBe(1);

    expect((await put(administrator, colleague.id, { phone })).status).toBe(200);
    expect((await removeFactor(administrator, colleague.id)).status).toBe(204);
    expect((await remove(administrator, colleague.id)).status).toBe(204);
  });

  test('an operator cannot change an account whose role was given a single operator permission', async () => {
    const roles = harness.database.collection('roles');
    const role = { name: 'reader', title: 'Reader', permissions: ['users.view_limited', 'audit.view'] };
    await roles.insertOne({ _id: 77 as never, ...role });
    const reader = await join(harness);
    await giveRoles(harness, reader.id, [1, 77]);
    expect((await put(operator, reader.id, { height: 180 })).status).toBe(403);
    await roles.updateOne({ _id: 77 as never }, { $set: { permissions: ['users.view_limited'] } });
    expect((await put(operator, reader.id, { height: 180 })).status).toBe(200);
  });

  test('an operator who does not manage roles cannot change roles, for others or themselves: 403', async () => {
    const empty = { _id: 78 as never, name: 'empty', title: 'Empty', permissions: [] };
    await harness.database.collection('roles').insertOne(empty);
    const [person, own] = [await join(harness), await joinAs(harness, 'operator')];
    for (const [from, to] of [
      [[1], [1, 2]],
      [[1], [2]],
      [[1], [1, 78]],
      [[1, 78], [1]],
      [[1, 78], []],
    ] as const) {
      await giveRoles(harness, person.id, [...from]);
      expect([from, to, (await put(operator, person.id, { role_ids: to, height: 180 })).status]).toEqual([
        from,
        to,
        403,
      ]);
      expect(await stored(person.id)).toMatchObject({ role_ids: from, height: null });
      expect((await put(own, own.id, { role_ids: [2, ...to.filter((id) => id !== 2), 78] })).status).toBe(
        403,
      );
      expect((await put(administrator, person.id, { role_ids: to })).status).toBe(200);
    }
  });

  test('an operator may send unchanged roles in any order, and add or remove the member role', async () => {
    const [person, own] = [await join(harness), await joinAs(harness, 'operator')];
    const twice = await put(operator, person.id, { role_ids: [1, 1], height: 181 });
    expect([twice.status, changesOf(twice.body).height]).toEqual([200, 181]);
    expect((await put(operator, person.id, { role_ids: [] })).status).toBe(200);
    expect((await put(operator, person.id, { role_ids: [1] })).status).toBe(200);
    expect((await stored(person.id))?.role_ids).toEqual([1]);
    await giveRoles(harness, own.id, [1, 2]);
    expect((await put(own, own.id, { role_ids: [2, 1], height: 182 })).status).toBe(200);
    expect((await put(own, own.id, { role_ids: [2] })).status).toBe(200);
  });

  test('an unknown role gets 422 first, then an unknown account 404, then a forbidden role 403', async () => {
    const colleague = await joinAs(harness, 'operator');
    expect((await put(operator, colleague.id, { role_ids: [999] })).status).toBe(422);
    expect((await put(operator, 999_999_999, { role_ids: [999] })).status).toBe(422);
    expect((await put(operator, 999_999_999, { role_ids: [2] })).status).toBe(404);
    expect((await put(operator, colleague.id, { role_ids: [2] })).status).toBe(403);
  });

  test('an operator never changes a member after they have become an operator concurrently', async () => {
    const person = await join(harness);
    const phones = Array.from({ length: 6 }, () => String(registration().phone));
    const [raised, ...answers] = await Promise.all([
      put(administrator, person.id, { role_ids: [2] }),
      ...phones.map((phone) => put(operator, person.id, { phone })),
    ]);
    expect(raised?.status).toBe(200);
    for (const answer of answers) expect([200, 403]).toContain(answer.status);
    expect((await put(operator, person.id, { phone: String(registration().phone) })).status).toBe(403);
  });
});

describe("a trainer's license", () => {
  const withLicense = async (review: Record<string, unknown> = {}) => {
    const person = await join(harness);
    const license = { trainer_license_image: 'l.pdf', trainer_license_media_id: 9, ...review };
    await harness.database.collection('users').updateOne({ _id: person.id as never }, { $set: license });
    return person;
  };
  const reviewOf = (body: { user: Record<string, unknown> }) => [
    body.user.trainer_license_approved,
    body.user.trainer_license_rejection_reason,
  ];

  test('a license can be approved, rejected with a reason, and reset; only a rejection has a reason', async () => {
    const person = await withLicense();
    const review = async (body: unknown) => reviewOf((await put(operator, person.id, body)).body);
    expect(
      await review({ trainer_license_approved: false, trainer_license_rejection_reason: 'blurred' }),
    ).toEqual([false, 'blurred']);
    expect(await review({ trainer_license_rejection_reason: 'still blurred' })).toEqual([
      false,
      'still blurred',
    ]);
    expect(await review({ height: 180 })).toEqual([false, 'still blurred']);
    expect(await review({ trainer_license_approved: true })).toEqual([true, null]);
    expect(await review({ trainer_license_approved: false })).toEqual([false, null]);
    expect(await review({ trainer_license_approved: null })).toEqual([null, null]);
  });

  test('whatever the review, a reason alone is stored, null clears it, and nobody is notified', async () => {
    const person = await withLicense();
    const notified = () =>
      harness.database.collection('notifications').countDocuments({ user_id: person.id });
    for (const approved of [true, false, null]) {
      await put(operator, person.id, { trainer_license_approved: approved });
      const before = await notified();
      const review = async (reason: unknown) => {
        const { status, body } = await put(operator, person.id, { trainer_license_rejection_reason: reason });
        return [status, reviewOf(body)];
      };
      expect(await review('blurred')).toEqual([200, [approved, 'blurred']]);
      expect(await review(' \n')).toEqual([200, [approved, 'blurred']]);
      expect(await review(null)).toEqual([200, [approved, null]]);
      expect(await notified()).toBe(before);
    }
  });

  test.each([
    ['an approval', { trainer_license_approved: true }, [true, null]],
    ['a reset', { trainer_license_approved: null }, [null, null]],
    ['a cleared document', { trainer_license_image: null }, [null, null]],
  ])('a reason that is sent with %s is dropped', async (_what, body, expected) => {
    const rejected = { trainer_license_approved: false, trainer_license_rejection_reason: 'older' };
    const person = await withLicense(rejected);
    const answer = await put(operator, person.id, { ...body, trainer_license_rejection_reason: 'blurred' });
    expect([answer.status, reviewOf(answer.body)]).toEqual([200, expected]);
  });

  test('an empty reason keeps the earlier one, and a reason is stored even without a document', async () => {
    const rejected = { trainer_license_approved: false, trainer_license_rejection_reason: 'older' };
    const [person, unlicensed] = [await withLicense(rejected), await join(harness)];
    const again = { trainer_license_approved: false, trainer_license_rejection_reason: '' };
    expect(reviewOf((await put(operator, person.id, again)).body)).toEqual([false, 'older']);
    const { status, body } = await put(operator, unlicensed.id, {
      trainer_license_rejection_reason: 'send it',
    });
    expect([status, reviewOf(body)]).toEqual([200, [null, 'send it']]);
  });

  test('a license is cleared with its review, even if the request contains a review', async () => {
    const person = await withLicense({ trainer_license_approved: true });
    const { body } = await put(operator, person.id, {
      trainer_license_image: null,
      trainer_license_approved: false,
    });
    expect(body.user).toMatchObject({
      trainer_license_image: null,
      trainer_license_link: null,
      trainer_license_approved: null,
      trainer_license_rejection_reason: null,
    });
    expect(harness.standIns.deletedLicensesOf).toContain(person.id);
  });

  test('a review that names another document is rejected with 409 and changes nothing', async () => {
    const person = await withLicense();
    const before = await stored(person.id);
    const verdict = { trainer_license_approved: true, height: 180 };
    for (const body of [verdict, { trainer_license_image: null }]) {
      const { status, body: conflict } = await put(operator, person.id, {
        ...body,
        trainer_license_media_id: 8,
      });
      expect([status, conflict]).toEqual([
        409,
        {
          message:
            'This license document has been replaced. Open the current one and review that one instead.',
          code: 'license_replaced',
        },
      ]);
    }
    expect(await stored(person.id)).toEqual(before);
    expect(harness.standIns.deletedLicensesOf).not.toContain(person.id);
    expect(await harness.database.collection('notifications').countDocuments({ user_id: person.id })).toBe(0);
    const { body } = await put(operator, person.id, { ...verdict, trainer_license_media_id: 9 });
    expect(body.user.trainer_license_link).toBe('/api/v1/media/9/l.pdf');
    expect(reviewOf(body)).toEqual([true, null]);
  });

  test('a license that its owner has cleared is not reviewed: 409', async () => {
    const person = await join(harness);
    const body = { trainer_license_approved: true, trainer_license_media_id: 9 };
    expect((await put(operator, person.id, body)).body.code).toBe('license_replaced');
    const none = { trainer_license_rejection_reason: null, trainer_license_media_id: null };
    expect((await put(operator, person.id, none)).status).toBe(200);
  });

  test('a new verdict, a reset and a removal notify the trainer, but a repeated verdict does not', async () => {
    const person = await withLicense();
    await put(operator, person.id, {
      trainer_license_approved: false,
      trainer_license_rejection_reason: 'blurred',
    });
    await put(operator, person.id, { trainer_license_approved: false });
    await put(operator, person.id, { trainer_license_approved: null });
    await put(operator, person.id, { trainer_license_approved: true });
    // Clearing wins and nobody is notified, as with the license of a gym.
    await put(operator, person.id, { trainer_license_image: null, trainer_license_approved: false });
    await harness.identity.call('AttachLicense', { user_id: person.id, media_id: 10, filename: 'l.pdf' });
    await put(operator, person.id, { trainer_license_image: null });
    await put(operator, person.id, { trainer_license_image: null });
    const notifications = await harness.database
      .collection('notifications')
      .find({ user_id: person.id })
      .sort({ _id: 1 })
      .toArray();
    expect(notifications.map(({ type, data }) => [type, data])).toEqual([
      ['trainer_license_reviewed', { approved: false, reason: 'blurred' }],
      ['trainer_license_reviewed', { approved: null, reason: '' }],
      ['trainer_license_reviewed', { approved: true, reason: '' }],
      ['trainer_license_reviewed', { approved: null, reason: '', removed: true }],
    ]);
  });

  test('operators who change their own license are not notified', async () => {
    const own = await joinAs(harness, 'operator');
    await harness.identity.call('AttachLicense', { user_id: own.id, media_id: 11, filename: 'l.pdf' });
    expect((await put(own, own.id, { trainer_license_image: null })).status).toBe(200);
    expect(await harness.database.collection('notifications').countDocuments({ user_id: own.id })).toBe(0);
  });

  test('a missing license can be reset but not reviewed: 422, no change and no notification', async () => {
    const person = await join(harness);
    const answer = await put(operator, person.id, { trainer_license_approved: true, height: 180 });
    expect([answer.status, answer.body.errors]).toEqual([
      422,
      { trainer_license_approved: ['There is no license document to review.'] },
    ]);
    expect(await stored(person.id)).toMatchObject({ trainer_license_approved: null, height: null });
    expect(await harness.database.collection('notifications').countDocuments({ user_id: person.id })).toBe(0);
    expect((await put(operator, person.id, { trainer_license_approved: null })).status).toBe(200);
    expect((await put(operator, 999_999_999, { trainer_license_approved: true })).status).toBe(404);
    expect((await put(operator, administrator.id, { trainer_license_approved: true })).status).toBe(403);
  });

  test('trainers cannot review their own license without the permission', async () => {
    const person = await withLicense();
    expect((await put(person, person.id, { trainer_license_approved: true })).status).toBe(403);
  });
});

test('of twenty concurrent changes of four accounts to the same email, those of one account succeed', async () => {
  const people = await Promise.all(Array.from({ length: 4 }, () => join(harness)));
  const email = String(registration().email);
  const changes = Array.from({ length: 20 }, async (_, index) => {
    const { id } = people[index % 4] as Person;
    return { id, status: (await put(operator, id, { email })).status };
  });
  const answers = await Promise.all(changes);
  const changed = answers.filter(({ status }) => status === 200).map(({ id }) => id);
  expect(new Set(changed).size).toBe(1);
  expect(answers.filter(({ status }) => status === 422)).toHaveLength(20 - changed.length);
  expect(await harness.database.collection('users').countDocuments({ email })).toBe(1);
});
