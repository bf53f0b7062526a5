import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  callerOf,
  type Harness,
  isLive,
  join,
  newAddress,
  PASSWORD,
  registration,
  startHarness,
} from './support.ts';

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
});
afterAll(() => harness.close());

const register = (fields: Record<string, unknown> = {}) =>
  harness.send('POST', '/auth/register', { body: registration(fields), headers: newAddress() });

describe('a registration', () => {
  test('a registration returns a token that is valid for 30 days, and the full resource', async () => {
    const sent = registration({ phone: '09123456789' });
    const { status, body } = await harness.send('POST', '/auth/register', { body: sent });
    expect(status).toBe(201);
    expect(body).toEqual({
      token: expect.stringMatching(/^fps_[A-Za-z0-9_-]{40}[0-9a-f]{8}$/),
      token_type: 'Bearer',
      expires_at: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/),
      user: {
        id: expect.any(Number),
        email: sent.email,
        phone: '+989123456789',
        bank_account_number: null,
        trainer_license_image: null,
        trainer_license_link: null,
        trainer_license_approved: null,
        trainer_license_rejection_reason: null,
        username: sent.username,
        first_name: 'Nima',
        last_name: 'Yushij',
        created_at: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/),
        referral_code: expect.stringMatching(/^[2-9A-Z]{8}$/),
        referrer_user_id: null,
        height: null,
        birth_date: null,
        gender: null,
        is_trainer: false,
        is_gym_owner: false,
        referral_score: 0,
        referrals_count: 0,
        roles: [
          {
            id: 1,
            name: 'member',
            title: 'Member',
            permissions: expect.arrayContaining(['users.view_limited']),
          },
        ],
        deletion_requested_at: null,
        deletion_scheduled_at: null,
        media: [],
        current_subscription: null,
      },
    });
    const lifetimeMs = Date.parse(`${body.expires_at}Z`) - Date.parse(`${body.user.created_at}Z`);
    expect(lifetimeMs).toBe(30 * 86_400_000);
  });

  test('a registration creates a member whose token is valid immediately', async () => {
    const person = await join(harness);
    const caller = await callerOf(harness, person.token);
    expect(caller).toMatchObject({ userId: person.id, tokenKind: 'session' });
    expect([...caller.permissions].sort()).toEqual([
      'gyms.create',
      'gyms.update',
      'payments.boost_own',
      'payments.buy_premium',
      'payments.view_own',
      'posts.create',
      'posts.view',
      'training_services.create',
      'users.view_limited',
    ]);
  });

  test('a registration stores neither the password nor the token', async () => {
    const { body } = await register();
    const user = await harness.database.collection('users').findOne({ _id: body.user.id });
    expect(user?.password_hash).toMatch(/^\$argon2id\$/);
    const tokens = await harness.database.collection('tokens').find({ user_id: body.user.id }).toArray();
    expect(JSON.stringify([user, tokens])).not.toContain(PASSWORD);
    expect(JSON.stringify([user, tokens])).not.toContain(body.token);
    expect(tokens).toHaveLength(1);
  });

  test('registrations get increasing ids', async () => {
    const first = await join(harness);
    const second = await join(harness);
    expect(second.id).toBeGreaterThan(first.id);
  });

  test('a registration ignores fields that a client may not set', async () => {
    const { body } = await register({
      role_ids: [3],
      is_trainer: true,
      deletion_scheduled_at: '2020-01-01 00:00:00',
      referrer_user_id: 1,
      _id: 1,
      version: 9,
    });
    expect(body.user).toMatchObject({
      is_trainer: false,
      deletion_scheduled_at: null,
      referrer_user_id: null,
      roles: [{ name: 'member' }],
    });
  });
});

describe('a referral code', () => {
  test('a referral code identifies the referrer, case-insensitively', async () => {
    const referrer = await join(harness);
    const code = referrer.user.referral_code.toLowerCase();
    const friend = await join(harness, { referral_code: ` ${code} ` });
    expect(friend.user.referrer_user_id).toBe(referrer.id);
  });

  test('an unknown referral code is rejected with 422 under referral_code', async () => {
    const { status, body } = await register({ referral_code: 'NOBODY00' });
    expect(status).toBe(422);
    expect(body.errors).toEqual({ referral_code: ['This referral code does not exist.'] });
  });

  test('a referral code may be null', async () => {
    expect((await register({ referral_code: null })).status).toBe(201);
  });
});

describe('invalid fields', () => {
  const cases: [string, unknown][] = [
    ['username', undefined],
    ['username', 'ab'],
    ['username', 'a'.repeat(51)],
    ['username', 'with space'],
    ['username', 'نیما'],
    ['username', 7],
    ['username', { $gt: '' }],
    ['email', 'not an address'],
    ['email', `${'a'.repeat(250)}@x.org`],
    ['phone', '12'],
    ['phone', '+98912'],
    ['phone', ['+989121112233']],
    ['phone', 989121112233],
    ['password', 'short'],
    ['password', 'x'.repeat(129)],
    ['first_name', '   '],
    ['first_name', 'x'.repeat(101)],
    ['last_name', 'two\nlines'],
    ['last_name', null],
    ['referral_code', 5],
  ];
  test.each(cases)('an invalid %s, %p, is rejected with 422 under its name', async (field, value) => {
    const { status, body } = await register({ [field]: value });
    expect(status).toBe(422);
    expect(Object.keys(body.errors)).toEqual([field]);
  });

  test('all invalid fields are named at once, in the requested language', async () => {
    const { status, body, headers } = await harness.send('POST', '/auth/register', {
      body: {},
      headers: { 'accept-language': 'fa' },
    });
    expect(status).toBe(422);
    expect(headers.get('content-language')).toBe('fa');
    expect(Object.keys(body.errors).sort()).toEqual([
      'email',
      'first_name',
      'last_name',
      'password',
      'phone',
      'username',
    ]);
    expect(body.errors.email).toEqual(['پر کردن این فیلد الزامی است.']);
  });

  test('passwords of 10 and of 128 characters are valid', async () => {
    expect((await register({ password: 'x'.repeat(10) })).status).toBe(201);
    expect((await register({ password: 'x'.repeat(128) })).status).toBe(201);
  });
});

describe('values of other accounts', () => {
  test('a taken name is rejected with 422 in any letter case, and a taken phone in any spelling', async () => {
    const existing = await join(harness);
    const { status, body } = await register({
      username: existing.user.username.toUpperCase(),
      email: existing.user.email.toUpperCase(),
      phone: existing.user.phone.replace('+98', '0'),
    });
    expect(status).toBe(422);
    expect(Object.keys(body.errors).sort()).toEqual(['email', 'phone', 'username']);
    expect(body.errors.phone).toEqual(['This value is already in use.']);
  });

  test('exactly one of concurrent registrations with the same phone, email or username succeeds', async () => {
    for (const [field, count] of [
      ['username', 20],
      ['email', 6],
      ['phone', 6],
    ] as const) {
      const shared = registration()[field];
      const answers = await Promise.all(Array.from({ length: count }, () => register({ [field]: shared })));
      const successes = answers.filter((answer) => answer.status === 201);
      expect(successes).toHaveLength(1);
      const failures = answers.filter((answer) => answer.status !== 201);
      for (const { status, body } of failures)
        expect([status, Object.keys(body.errors)]).toEqual([422, [field]]);
      expect(await harness.database.collection('users').countDocuments({ [field]: shared })).toBe(1);
      expect(await isLive(harness, successes[0]?.body.token)).toBe(true);
    }
  });
});
