import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  isLive,
  join,
  logIn,
  PASSWORD,
  type Person,
  registration,
  startWorld,
  type World,
} from './support.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world.close());

const put = (person: Person, body: unknown) => world.send('PUT', '/auth/me', { as: person.caller, body });
const stored = (id: number) => world.database.collection('users').findOne({ _id: id as never });

describe('GET /auth/me', () => {
  test('is the whole own resource, deletion timestamps included', async () => {
    const person = await join(world);
    const { status, body } = await world.send('GET', '/auth/me', { as: person.caller });
    expect(status).toBe(200);
    expect(body).toEqual({ user: person.user });
  });

  test('needs a token', async () => {
    expect((await world.send('GET', '/auth/me')).status).toBe(401);
    expect((await world.send('PUT', '/auth/me', { body: {} })).status).toBe(401);
  });

  test('shows public media and the running subscription', async () => {
    const person = await join(world);
    world.outside.media.push({ id: 71, userId: person.id, filename: 'me.png' });
    world.outside.subscriptions.push({ id: 81, userId: person.id });
    const { body } = await world.send('GET', '/auth/me', { as: person.caller });
    expect(body.user.media).toEqual([
      {
        id: 71,
        attachable_type: 'App\\Models\\User',
        attachable_id: person.id,
        link: 'http://api.test/api/v1/media/71/me.png',
        filename: 'me.png',
        mime_type: 'image/png',
        size: 10,
        purpose: null,
        created_at: '2026-01-01 00:00:00',
      },
    ]);
    expect(body.user.current_subscription).toMatchObject({ id: 81, user_id: person.id, type: 'plus' });
  });
});

describe('PUT /auth/me', () => {
  test('changes only what is given, and null clears', async () => {
    const person = await join(world);
    const first = await put(person, {
      first_name: '  Forugh ',
      height: 165,
      birth_date: '1990-02-28',
      gender: 'female',
      bank_account_number: 'IR-12',
      is_trainer: true,
      is_gym_owner: true,
    });
    expect(first.status).toBe(200);
    expect(first.body.user).toEqual({
      ...person.user,
      first_name: 'Forugh',
      height: 165,
      birth_date: '1990-02-28',
      gender: 'female',
      bank_account_number: 'IR-12',
      is_trainer: true,
      is_gym_owner: true,
    });
    const second = await put(person, {
      height: null,
      birth_date: null,
      gender: null,
      bank_account_number: null,
      is_trainer: false,
    });
    expect(second.body.user).toEqual({ ...person.user, first_name: 'Forugh', is_gym_owner: true });
  });

  test('every change makes the version of the account grow by one', async () => {
    const person = await join(world);
    const before = await stored(person.id);
    await put(person, { height: 180 });
    await put(person, { height: 181 });
    expect((await stored(person.id))?.version).toBe(Number(before?.version) + 2);
  });

  test('twenty changes at once: none is lost', async () => {
    const person = await join(world);
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => put(person, { height: 100 + index })),
    );
    expect(answers.map((answer) => answer.status)).toEqual(Array(20).fill(200));
    expect((await stored(person.id))?.version).toBe(21);
  });

  test('cannot set deletion timestamps, roles, the review of the licence, nor the referrer', async () => {
    const person = await join(world);
    const { status, body } = await put(person, {
      deletion_requested_at: '2026-01-01 00:00:00',
      deletion_scheduled_at: '2026-01-01 00:00:00',
      role_ids: [3],
      trainer_license_approved: true,
      referrer_user_id: 1,
      referral_code: 'AAAAAAAA',
      id: 5,
    });
    expect(status).toBe(200);
    expect(body.user).toEqual(person.user);
  });

  const bad: [string, unknown][] = [
    ['first_name', null],
    ['first_name', ''],
    ['height', 49],
    ['height', 301],
    ['height', 170.5],
    ['height', '170'],
    ['birth_date', '2023-02-29'],
    ['birth_date', '1990/01/01'],
    ['birth_date', '2999-01-01'],
    ['birth_date', '1899-12-31'],
    ['birth_date', '0001-01-01'],
    ['first_name', 'half a pair \ud800'],
    ['last_name', '\udc00'],
    ['gender', 'x'],
    ['bank_account_number', '1'.repeat(35)],
    ['bank_account_number', 'IR 12'],
    ['is_trainer', 'yes'],
    ['is_gym_owner', null],
    ['trainer_license_image', 'file.png'],
    ['username', 'no spaces please'],
    ['phone', '123'],
    ['email', 'nobody'],
  ];
  test.each(bad)('%s: %p is 422 under its name', async (field, value) => {
    const person = await join(world);
    const { status, body } = await put(person, { [field]: value });
    expect(status).toBe(422);
    expect(Object.keys(body.errors)).toEqual([field]);
  });

  test('takes the first day of 1900, and characters beyond the basic plane', async () => {
    const person = await join(world);
    const fields = { birth_date: '1900-01-01', first_name: 'Sara 🏋' };
    expect((await put(person, fields)).body.user).toMatchObject(fields);
  });

  test('a new user name needs no password, and signs in; the old one is free', async () => {
    const person = await join(world);
    const username = `new.${person.user.username}`;
    expect((await put(person, { username })).body.user.username).toBe(username);
    expect((await logIn(world, username)).status).toBe(200);
    expect((await logIn(world, person.user.username)).status).toBe(422);
    await join(world, { username: person.user.username });
  });
});

describe('a new e-mail or phone', () => {
  const fresh = (field: 'email' | 'phone') => String(registration()[field]);

  test.each(['email', 'phone'] as const)('%s without current_password: 422 under it', async (field) => {
    const person = await join(world);
    const { status, body } = await put(person, { [field]: fresh(field) });
    expect(status).toBe(422);
    expect(body.errors).toEqual({ current_password: ['This field is required.'] });
  });

  test.each(['email', 'phone'] as const)('%s with a wrong one: 422, nothing changes', async (field) => {
    const person = await join(world);
    const { status, body } = await put(person, {
      [field]: fresh(field),
      current_password: 'wrong',
      height: 170,
    });
    expect(status).toBe(422);
    expect(body.errors).toEqual({ current_password: ['The password is not correct.'] });
    expect(await stored(person.id)).toMatchObject({ [field]: person.user[field], height: null });
  });

  test.each(['email', 'phone'] as const)('%s with the right one is changed, and signs in', async (field) => {
    const person = await join(world);
    const value = fresh(field);
    const { status, body } = await put(person, { [field]: value, current_password: PASSWORD });
    expect(status).toBe(200);
    expect(body.user[field]).toBe(value);
    expect((await logIn(world, value)).body.user.id).toBe(person.id);
    expect((await logIn(world, person.user[field])).status).toBe(422);
  });

  test('the one that is there already, in another spelling, is not a new one', async () => {
    const person = await join(world);
    const { status } = await put(person, {
      email: person.user.email.toUpperCase(),
      phone: person.user.phone.replace('+98', '0'),
    });
    expect(status).toBe(200);
  });

  test('what another account has is 422 under its field', async () => {
    const other = await join(world);
    const person = await join(world);
    const { email, phone, username } = other.user;
    const { status, body } = await put(person, { email, phone, username, current_password: PASSWORD });
    expect(status).toBe(422);
    expect(Object.keys(body.errors).sort()).toEqual(['email', 'phone', 'username']);
  });

  test('twenty accounts that want the same user name at once: one gets it', async () => {
    const people = await Promise.all(Array.from({ length: 20 }, () => join(world)));
    const username = String(registration().username);
    const answers = await Promise.all(people.map((person) => put(person, { username })));
    expect(answers.filter((answer) => answer.status === 200)).toHaveLength(1);
    expect(answers.filter((answer) => answer.status === 422)).toHaveLength(19);
  });
});

describe('the own licence document', () => {
  const withLicence = async () => {
    const person = await join(world);
    const licence = {
      trainer_license_image: 'my licence.pdf',
      trainer_license_media_id: 55,
      trainer_license_approved: false,
      trainer_license_rejection_reason: 'blurred',
    };
    await world.database.collection('users').updateOne({ _id: person.id as never }, { $set: licence });
    return person;
  };

  test('has a link to its download, and is not among the media', async () => {
    const person = await withLicence();
    const { body } = await world.send('GET', '/auth/me', { as: person.caller });
    expect(body.user).toMatchObject({
      trainer_license_image: 'my licence.pdf',
      trainer_license_link: '/api/v1/media/55/my%20licence.pdf',
      trainer_license_approved: false,
      trainer_license_rejection_reason: 'blurred',
      media: [],
    });
  });

  test('null clears it with its review, and the stored document is deleted', async () => {
    const person = await withLicence();
    const { status, body } = await put(person, { trainer_license_image: null });
    expect(status).toBe(200);
    expect(body.user).toEqual(person.user);
    expect(world.outside.deletedLicencesOf).toContain(person.id);
  });

  test('null where there is none changes nothing and asks nobody', async () => {
    const person = await join(world);
    expect((await put(person, { trainer_license_image: null })).status).toBe(200);
    expect(world.outside.deletedLicencesOf).not.toContain(person.id);
  });
});

describe('PUT /auth/change-password', () => {
  const change = (person: Person, body: unknown) =>
    world.send('PUT', '/auth/change-password', { as: person.caller, body });
  const next = 'a better password';

  test('revokes every other credential, keeps the presenting one, and says so to the others', async () => {
    const person = await join(world);
    const session = (await logIn(world, person.user.username)).body.token;
    const made = await world.send('POST', '/auth/tokens', { as: person.caller, body: { name: 'ci' } });
    const { status, body } = await change(person, { current_password: PASSWORD, password: next });
    expect([status, body]).toEqual([
      200,
      { message: 'Your password was changed. You are signed out everywhere else.' },
    ]);
    expect(await isLive(world, person.token)).toBe(true);
    expect(await isLive(world, session)).toBe(false);
    expect(await isLive(world, made.body.token)).toBe(false);
    expect((await logIn(world, person.user.username)).status).toBe(422);
    expect((await logIn(world, person.user.username, next)).status).toBe(200);
    const event = await world.database
      .collection('outbox')
      .findOne({ aggregate: `/services/identity/${person.id}` });
    expect(event?.type).toBe('identity.credentials.revoked');
    expect(JSON.parse(event?.body).data).toEqual({ user_id: person.id, reason: 'password_changed' });
  });

  test('a wrong current password is 422 under it, and nothing is revoked', async () => {
    const person = await join(world);
    const session = (await logIn(world, person.user.username)).body.token;
    const { status, body } = await change(person, { current_password: 'wrong', password: next });
    expect(status).toBe(422);
    expect(body.errors).toEqual({ current_password: ['The password is not correct.'] });
    expect(await isLive(world, session)).toBe(true);
    expect((await logIn(world, person.user.username)).status).toBe(200);
  });

  test.each([
    [{ password: next }, 'current_password'],
    [{ current_password: PASSWORD }, 'password'],
    [{ current_password: PASSWORD, password: 'short' }, 'password'],
    [{ current_password: PASSWORD, password: 'x'.repeat(129) }, 'password'],
  ])('%p is 422 under %s', async (body, field) => {
    const person = await join(world);
    const answer = await change(person, body);
    expect(answer.status).toBe(422);
    expect(Object.keys(answer.body.errors)).toEqual([field]);
  });

  test('twenty at once with the same old password: exactly one wins, and its password is the one that counts', async () => {
    const person = await join(world);
    const answers = await Promise.all(
      Array.from({ length: 20 }, async (_, index) => ({
        password: `a new password ${index}`,
        status: (await change(person, { current_password: PASSWORD, password: `a new password ${index}` }))
          .status,
      })),
    );
    const won = answers.filter((answer) => answer.status === 200);
    expect(won).toHaveLength(1);
    expect(answers.filter((answer) => answer.status === 422)).toHaveLength(19);
    expect((await logIn(world, person.user.username, won[0]?.password)).status).toBe(200);
  });
});
