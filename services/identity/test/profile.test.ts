import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { watchEvents } from './events.ts';
import {
  type Harness,
  isLive,
  join,
  logIn,
  mediaCopy,
  PASSWORD,
  type Person,
  registration,
  startHarness,
} from './support.ts';

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
});
afterAll(() => harness.close());

const put = (person: Person, body: unknown) => harness.send('PUT', '/auth/me', { as: person.caller, body });
const stored = (id: number) => harness.database.collection('users').findOne({ _id: id as never });

describe('GET /auth/me', () => {
  test('GET /auth/me returns the full resource, including the deletion timestamps', async () => {
    const person = await join(harness);
    const { status, body } = await harness.send('GET', '/auth/me', { as: person.caller });
    expect(status).toBe(200);
    expect(body).toEqual({ user: person.user });
  });

  test('GET and PUT /auth/me require a token', async () => {
    expect((await harness.send('GET', '/auth/me')).status).toBe(401);
    expect((await harness.send('PUT', '/auth/me', { body: {} })).status).toBe(401);
  });

  test('the account includes public media and the current subscription', async () => {
    const person = await join(harness);
    await harness.saveMedia(mediaCopy(person.id, [{ id: 71, filename: 'me.png' }], 1));
    harness.standIns.subscriptions.push({ id: 81, userId: person.id });
    const { body } = await harness.send('GET', '/auth/me', { as: person.caller });
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
  test('an update changes only the fields that are sent, and null clears a field', async () => {
    const person = await join(harness);
    const first = await put(person, {
      first_name: '  Forugh ',
      height: 165,
      birth_date: '1990-02-28',
      gender: 'female',
      bank_account_number: 'IR820540102680020817909002',
      is_trainer: true,
      is_gym_owner: true,
      current_password: PASSWORD,
    });
    expect(first.status).toBe(200);
    expect(first.body.user).toEqual({
      ...person.user,
      first_name: 'Forugh',
      height: 165,
      birth_date: '1990-02-28',
      gender: 'female',
      bank_account_number: 'IR820540102680020817909002',
      is_trainer: true,
      is_gym_owner: true,
    });
    const second = await put(person, {
      height: null,
      birth_date: null,
      gender: null,
      bank_account_number: null,
      is_trainer: false,
      current_password: PASSWORD,
    });
    expect(second.body.user).toEqual({ ...person.user, first_name: 'Forugh', is_gym_owner: true });
  });

  test('an update increments the version of the account', async () => {
    const person = await join(harness);
    const before = await stored(person.id);
    await put(person, { height: 180 });
    await put(person, { height: 181 });
    expect((await stored(person.id))?.version).toBe(Number(before?.version) + 2);
  });

  test('none of twenty concurrent changes is lost', async () => {
    const person = await join(harness);
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => put(person, { height: 100 + index })),
    );
    expect(answers.map((answer) => answer.status)).toEqual(Array(20).fill(200));
    expect((await stored(person.id))?.version).toBe(21);
  });

  test('an update ignores deletion timestamps, roles, the license review and the referrer', async () => {
    const person = await join(harness);
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

  const invalid: [string, unknown][] = [
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
    ['bank_account_number', ''],
    ['bank_account_number', 12],
    ['is_trainer', 'yes'],
    ['is_gym_owner', null],
    ['trainer_license_image', 'file.png'],
    ['username', 'no spaces please'],
    ['phone', '123'],
    ['email', 'nobody'],
  ];
  test('an invalid value is rejected with 422 under the name of its field', async () => {
    const person = await join(harness);
    for (const [field, value] of invalid) {
      const { status, body } = await put(person, { [field]: value });
      expect([field, value, status, Object.keys(body.errors)]).toEqual([field, value, 422, [field]]);
    }
    for (const [language, text] of [
      ['en', 'This date must be January 1, 1900 or later.'],
      ['fa', 'این تاریخ نباید پیش از ۱۱ دی ۱۲۷۸ باشد.'],
    ] as const) {
      const headers = { 'accept-language': language };
      const body = { birth_date: '1899-12-31' };
      const answer = await harness.send('PUT', '/auth/me', { as: person.caller, body, headers });
      expect(answer.body.errors).toEqual({ birth_date: [text] });
    }
    expect((await stored(person.id))?.version).toBe(1);
  });

  test('the first day of 1900 and characters beyond the basic multilingual plane are accepted', async () => {
    const person = await join(harness);
    const fields = { birth_date: '1900-01-01', first_name: 'Sara 🏋' };
    expect((await put(person, fields)).body.user).toMatchObject(fields);
  });

  test('a username is changed without the password, and the old one is released', async () => {
    const person = await join(harness);
    const username = `new.${person.user.username}`;
    expect((await put(person, { username })).body.user.username).toBe(username);
    expect((await logIn(harness, username)).status).toBe(200);
    expect((await logIn(harness, person.user.username)).status).toBe(422);
    await join(harness, { username: person.user.username });
  });
});

describe('a bank account', () => {
  const VALID = 'IR820540102680020817909002';
  const set = (person: Person, bank_account_number: unknown, more: Record<string, unknown> = {}) =>
    put(person, { bank_account_number, current_password: PASSWORD, ...more });

  // src/domain/bank-account.test.ts has more of them.
  test('a possible bank account is stored in its compact form, and another one is rejected with 422', async () => {
    const person = await join(harness);
    for (const typed of ['ZZ00', '12345a', ' - ', '1 '.repeat(60), 'IR820540102680020817909003']) {
      const { status, body } = await set(person, typed, { height: 180 });
      expect([typed, status, Object.keys(body.errors)]).toEqual([typed, 422, ['bank_account_number']]);
    }
    expect(await stored(person.id)).toMatchObject({ bank_account_number: null, height: null });
    for (const [typed, expected] of [
      ['  IR٨٢ 0540\u00a01026\u20118002\u22120817 9090 02 ', VALID],
      ['MT84 MALT 0110 0001 2345 MTLC AST0 01S', 'MT84MALT011000012345MTLCAST001S'],
      ['۰۱۰۱/۲۳۴۵.۶۷', '0101/2345.67'],
    ] as const) {
      const { status, body } = await set(person, typed);
      expect([typed, status, body.user.bank_account_number]).toEqual([typed, 200, expected]);
    }
  });

  test('the stored bank account is accepted in any spelling, without the password', async () => {
    const person = await join(harness);
    const users = harness.database.collection('users');
    for (const old of ['IR-12', VALID]) {
      await users.updateOne({ _id: person.id as never }, { $set: { bank_account_number: old } });
      for (const sent of [old, ` ${old.toLowerCase()}-`]) {
        const answer = await put(person, { bank_account_number: sent, height: 180 });
        expect([sent, answer.status, answer.body.user.bank_account_number]).toEqual([sent, 200, old]);
      }
      expect((await set(person, `${old}${old}`)).status).toBe(422);
    }
    const { body } = await harness.send('GET', '/notifications', { as: person.caller });
    expect(body.data).toEqual([]);
  });
});

describe('a new email, phone or bank account', () => {
  const fresh = (field: 'email' | 'phone' | 'bank_account_number') =>
    field === 'bank_account_number' ? 'IR820540102680020817909002' : String(registration()[field]);

  test('a new email, phone or bank account requires the correct current_password', async () => {
    const person = await join(harness);
    for (const field of ['email', 'phone', 'bank_account_number'] as const)
      for (const [current_password, text] of [
        [undefined, 'This field is required.'],
        ['wrong', 'The password is incorrect.'],
      ] as const) {
        const answer = await put(person, { [field]: fresh(field), current_password, height: 170 });
        expect([field, answer.status, answer.body.errors]).toEqual([
          field,
          422,
          { current_password: [text] },
        ]);
        expect(await stored(person.id)).toMatchObject({ [field]: person.user[field], height: null });
      }
  });

  test('removing the bank account requires current_password, and keeping it does not', async () => {
    const person = await join(harness);
    const account = { bank_account_number: fresh('bank_account_number') };
    expect((await put(person, { ...account, current_password: PASSWORD })).status).toBe(200);
    const removal = await put(person, { bank_account_number: null });
    expect([removal.status, Object.keys(removal.body.errors)]).toEqual([422, ['current_password']]);
    const { status, body } = await put(person, { ...account, height: 180 });
    expect(status).toBe(200);
    expect(body.user).toMatchObject({ ...account, height: 180 });
  });

  test('a new email replaces the old one as a login', async () => {
    const person = await join(harness);
    const email = fresh('email');
    const { status, body } = await put(person, { email, current_password: PASSWORD });
    expect(status).toBe(200);
    expect(body.user.email).toBe(email);
    expect((await logIn(harness, email)).body.user.id).toBe(person.id);
    expect((await logIn(harness, person.user.email)).status).toBe(422);
  });

  test('another spelling of the current email or phone requires no password', async () => {
    const person = await join(harness);
    const { status } = await put(person, {
      email: person.user.email.toUpperCase(),
      phone: person.user.phone.replace('+98', '0'),
    });
    expect(status).toBe(200);
  });

  test('another account’s email, phone or username is rejected with 422 under its field', async () => {
    const other = await join(harness);
    const person = await join(harness);
    const { email, phone, username } = other.user;
    const { status, body } = await put(person, { email, phone, username, current_password: PASSWORD });
    expect(status).toBe(422);
    expect(Object.keys(body.errors).sort()).toEqual(['email', 'phone', 'username']);
  });
});

test('of twenty concurrent changes of four accounts to the same username, those of one account succeed', async () => {
  const people = await Promise.all(Array.from({ length: 4 }, () => join(harness)));
  const username = String(registration().username);
  const changes = Array.from({ length: 20 }, async (_, index) => {
    const person = people[index % 4] as Person;
    return { id: person.id, status: (await put(person, { username })).status };
  });
  const answers = await Promise.all(changes);
  const changed = answers.filter(({ status }) => status === 200).map(({ id }) => id);
  expect(new Set(changed).size).toBe(1);
  expect(answers.filter(({ status }) => status === 422)).toHaveLength(20 - changed.length);
  expect(await harness.database.collection('users').countDocuments({ username })).toBe(1);
});

describe('the caller’s license document', () => {
  const withLicense = async () => {
    const person = await join(harness);
    const license = {
      trainer_license_image: 'my license.pdf',
      trainer_license_media_id: 55,
      trainer_license_approved: false,
      trainer_license_rejection_reason: 'blurred',
    };
    await harness.database.collection('users').updateOne({ _id: person.id as never }, { $set: license });
    return person;
  };

  test('the license document has a download link, and is not part of the media', async () => {
    const person = await withLicense();
    const { body } = await harness.send('GET', '/auth/me', { as: person.caller });
    expect(body.user).toMatchObject({
      trainer_license_image: 'my license.pdf',
      trainer_license_link: '/api/v1/media/55/my%20license.pdf',
      trainer_license_approved: false,
      trainer_license_rejection_reason: 'blurred',
      media: [],
    });
  });

  test('null clears the license document with its review, and the stored file is deleted', async () => {
    const person = await withLicense();
    const { status, body } = await put(person, { trainer_license_image: null });
    expect(status).toBe(200);
    expect(body.user).toEqual(person.user);
    expect(harness.standIns.deletedLicensesOf).toContain(person.id);
  });

  test('clearing a missing license document makes no call to media', async () => {
    const person = await join(harness);
    expect((await put(person, { trainer_license_image: null })).status).toBe(200);
    expect(harness.standIns.deletedLicensesOf).not.toContain(person.id);
  });
});

describe('PUT /auth/change-password', () => {
  const change = (person: Person, body: unknown) =>
    harness.send('PUT', '/auth/change-password', { as: person.caller, body });
  const next = 'a better password';

  test('a password change revokes every other credential and publishes the revocation', async () => {
    const person = await join(harness);
    const events = await watchEvents(harness);
    const session = (await logIn(harness, person.user.username)).body.token;
    const created = await harness.send('POST', '/auth/tokens', { as: person.caller, body: { name: 'ci' } });
    const { status, body } = await change(person, { current_password: PASSWORD, password: next });
    expect([status, body]).toEqual([
      200,
      { message: 'Your password has been changed, and you have been signed out everywhere else.' },
    ]);
    expect(await isLive(harness, person.token)).toBe(true);
    expect(await isLive(harness, session)).toBe(false);
    expect(await isLive(harness, created.body.token)).toBe(false);
    expect((await logIn(harness, person.user.username)).status).toBe(422);
    expect((await logIn(harness, person.user.username, next)).status).toBe(200);
    expect(await events.publishedAbout(person.id)).toEqual([
      { type: 'identity.credentials.revoked', data: { user_id: person.id, reason: 'password_changed' } },
    ]);
    await events.close();
  });

  test('a wrong current password is rejected with 422 and revokes nothing', async () => {
    const person = await join(harness);
    const session = (await logIn(harness, person.user.username)).body.token;
    const { status, body } = await change(person, { current_password: 'wrong', password: next });
    expect(status).toBe(422);
    expect(body.errors).toEqual({ current_password: ['The password is incorrect.'] });
    expect(await isLive(harness, session)).toBe(true);
    expect((await logIn(harness, person.user.username)).status).toBe(200);
  });

  test('a password change with a missing or invalid field returns 422 under its name', async () => {
    const person = await join(harness);
    for (const [body, field] of [
      [{ password: next }, 'current_password'],
      [{ current_password: PASSWORD }, 'password'],
      [{ current_password: PASSWORD, password: 'short' }, 'password'],
      [{ current_password: PASSWORD, password: 'x'.repeat(129) }, 'password'],
    ] as const) {
      const answer = await change(person, body);
      expect([body, answer.status, Object.keys(answer.body.errors)]).toEqual([body, 422, [field]]);
    }
  });

  test('one of twenty concurrent password changes succeeds and sets its password', async () => {
    const person = await join(harness);
    const answers = await Promise.all(
      Array.from({ length: 20 }, async (_, index) => ({
        password: `a new password ${index}`,
        status: (await change(person, { current_password: PASSWORD, password: `a new password ${index}` }))
          .status,
      })),
    );
    const successes = answers.filter((answer) => answer.status === 200);
    expect(successes).toHaveLength(1);
    expect(answers.filter((answer) => answer.status === 422)).toHaveLength(9);
    expect(answers.filter((answer) => answer.status === 429)).toHaveLength(10);
    expect((await logIn(harness, person.user.username, successes[0]?.password)).status).toBe(200);
  });
});
