/** A phone is proven once its owner enters a code. The owner can recover an account that a stranger has registered with it. */
import type { Answer } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startIdentity } from '../src/service.ts';
import { arm, begin, codeOf, logInWith, setUp } from './second-factor-support.ts';
import { type SmsSandbox, startSmsSandbox } from './sms-sandbox.ts';
import {
  callerOf,
  giveRoles,
  type Harness,
  isLive,
  join,
  joinAs,
  logIn,
  newAddress,
  PASSWORD,
  type Person,
  registration,
  startHarness,
} from './support.ts';

const OWNERS_PASSWORD = 'what the owner has chosen';

let sandbox: SmsSandbox;
let harness: Harness;
beforeAll(async () => {
  sandbox = await startSmsSandbox();
  harness = await startHarness({ KAVENEGAR_BASE_URL: sandbox.kavenegarUrl });
});
afterAll(async () => {
  await harness.close();
  await sandbox.close();
});

const newPhone = (): string => String(registration().phone);

/** The owner of the phone resets the password of the account. */
const resetBySms = async (phone: string, password = OWNERS_PASSWORD): Promise<Answer> => {
  const { length } = await sandbox.received(phone);
  const headers = newAddress();
  await harness.send('POST', '/auth/forgot-password', { body: { login: phone }, headers });
  await sandbox.waitFor(phone, length + 1);
  const body = { login: phone, code: await sandbox.newestCode(phone), password };
  const answer = await harness.send('POST', '/auth/reset-password', { body, headers });
  expect(answer.status).toBe(200);
  return answer;
};

const putMe = (person: Person, body: Record<string, unknown>): Promise<Answer> =>
  harness.send('PUT', '/auth/me', { as: person.caller, body });

/** Confirms the account's own phone, or another one, with the code that is sent to it. */
const confirm = async (person: Person, phone: string): Promise<Answer> => {
  const request = await putMe(person, { phone, current_password: PASSWORD });
  expect([request.status, request.body.user]).toEqual([200, person.user]);
  const body = { code: await sandbox.newestCode(phone) };
  return harness.send('POST', '/auth/phone/confirm', { as: person.caller, body });
};

const armDeletion = async (person: Person): Promise<string> => {
  const body = { current_password: PASSWORD };
  const answer = await harness.send('POST', '/auth/delete-account', { as: person.caller, body });
  expect(answer.status).toBe(200);
  return sandbox.newestCode(person.user.phone);
};

/** Whether a sign-in after a reset requires a code. */
const keepsSecondFactor = async (person: Person, phone: string = person.user.phone): Promise<boolean> => {
  await resetBySms(phone);
  const { status, body } = await logInWith(harness, person, undefined, OWNERS_PASSWORD);
  if (status === 200) return false;
  expect([status, Object.keys(body.errors)]).toEqual([422, ['totp']]);
  return true;
};

describe('a stranger who registers with another person’s phone and sets up a second factor', () => {
  test('a reset by SMS removes a stranger’s second factor and every credential', async () => {
    const stranger = await join(harness);
    await setUp(harness, stranger);
    const created = await harness.send('POST', '/auth/tokens', { as: stranger.caller, body: { name: 'ci' } });
    expect(created.status).toBe(201);
    await resetBySms(stranger.user.phone);
    for (const token of [stranger.token, created.body.token])
      expect(await isLive(harness, token)).toBe(false);
    const owner = await logIn(harness, stranger.user.phone, OWNERS_PASSWORD);
    expect([owner.status, owner.body.user]).toEqual([200, stranger.user]);
    expect((await logIn(harness, stranger.user.phone)).status).toBe(422);
    const as = await callerOf(harness, owner.body.token);
    const { data } = (await harness.send('GET', '/notifications', { as })).body;
    const changes = data
      .filter(({ type }: { type: string }) => type === 'security_alert')
      .map((one: { data: { change: string } }) => one.data.change);
    expect(changes.toSorted()).toEqual([
      'password_reset',
      'second_factor_armed',
      'second_factor_removed',
      'token_created',
    ]);
  });

  test('after a reset, a stranger cannot finish a setup, and their networks are unknown again', async () => {
    const headers = newAddress();
    const stranger = await join(harness);
    const body = { login: stranger.user.username, password: PASSWORD };
    const session = await harness.send('POST', '/auth/login', { body, headers });
    expect(session.status).toBe(200);
    const { secret } = (await begin(harness, stranger)).body;
    await resetBySms(stranger.user.phone);
    const owner = await logIn(harness, stranger.user.phone, OWNERS_PASSWORD);
    const caller = await callerOf(harness, owner.body.token);
    const answer = await arm(harness, { ...stranger, caller }, codeOf(harness, secret));
    expect([answer.status, Object.keys(answer.body.errors)]).toEqual([422, ['totp']]);
    const keys = harness.database.collection('login_keys');
    const networks = (await keys.find({ user_id: stranger.id }).toArray()).flatMap((key) => key.networks);
    // Only the network of the owner's sign-in is left.
    expect(networks).toHaveLength(1);
  });
});

describe('a reset by SMS that leaves the second factor on', () => {
  test('a second factor survives a reset if the account has confirmed its own phone', async () => {
    const person = await join(harness);
    const { status, body } = await confirm(person, person.user.phone.replace('+98', '0098'));
    expect([status, body.user]).toEqual([200, person.user]);
    await setUp(harness, person);
    expect(await keepsSecondFactor(person)).toBe(true);
  });

  test('a second factor survives a reset if the phone was confirmed as a new one', async () => {
    const person = await join(harness);
    const phone = newPhone();
    expect((await confirm(person, phone)).status).toBe(200);
    await setUp(harness, person);
    expect(await keepsSecondFactor(person, phone)).toBe(true);
  });

  test('a second factor survives a reset after a deletion code, even if a blocker applied', async () => {
    const person = await join(harness);
    const code = await armDeletion(person);
    harness.standIns.blockers = [{ userId: person.id, code: 'gym_ownership', extras: { count: 1 } }];
    const body = { current_password: PASSWORD, confirmation_code: code };
    const answer = await harness.send('POST', '/auth/delete-account', { as: person.caller, body });
    harness.standIns.blockers = [];
    expect(answer.status).toBe(409);
    await setUp(harness, person);
    expect(await keepsSecondFactor(person)).toBe(true);
  });

  test('a second factor that was set up after a reset by SMS survives the next reset', async () => {
    const person = await join(harness);
    await resetBySms(person.user.phone, PASSWORD);
    const { body } = await logIn(harness, person.user.username);
    await setUp(harness, { ...person, caller: await callerOf(harness, body.token) });
    expect(await keepsSecondFactor(person)).toBe(true);
  });

  test('the second factor of a user with a single operator permission survives a reset', async () => {
    const person = await join(harness);
    const role = { _id: 77, name: 'auditor', title: 'Auditor', permissions: ['audit.view'] };
    await harness.database.collection('roles').insertOne(role as never);
    await giveRoles(harness, person.id, [1, 77]);
    await setUp(harness, person);
    expect(await keepsSecondFactor(person)).toBe(true);
  });
});

describe('phones that are not proven', () => {
  test('a code that was not entered does not prove a phone', async () => {
    const person = await join(harness);
    await putMe(person, { phone: person.user.phone, current_password: PASSWORD });
    const body = {
      code: String((Number(await sandbox.newestCode(person.user.phone)) + 1) % 1e6).padStart(6, '0'),
    };
    expect((await harness.send('POST', '/auth/phone/confirm', { as: person.caller, body })).status).toBe(422);
    await armDeletion(person);
    await setUp(harness, person);
    expect(await keepsSecondFactor(person)).toBe(false);
  });

  test('a phone that an operator has set is not proven, even if the previous one was', async () => {
    const [person, operator] = [await join(harness), await joinAs(harness, 'administrator')];
    expect((await confirm(person, person.user.phone)).status).toBe(200);
    await setUp(harness, person);
    const phone = newPhone();
    const path = `/users/${person.id}`;
    expect((await harness.send('PUT', path, { as: operator.caller, body: { phone } })).status).toBe(200);
    expect(await keepsSecondFactor(person, phone)).toBe(false);
  });

  test('an operator who writes the same phone again does not change its proof', async () => {
    const [person, operator] = [await join(harness), await joinAs(harness, 'administrator')];
    expect((await confirm(person, person.user.phone)).status).toBe(200);
    await setUp(harness, person);
    const body = { phone: person.user.phone, first_name: 'Other' };
    const answer = await harness.send('PUT', `/users/${person.id}`, { as: operator.caller, body });
    expect(answer.status).toBe(200);
    expect(await keepsSecondFactor(person)).toBe(true);
  });
});

describe('a code for the current phone', () => {
  const sentTo = async ({ user }: Person): Promise<number> => (await sandbox.received(user.phone)).length;

  test('the code is sent only for a session with the password, and changes and notifies nothing', async () => {
    const person = await join(harness);
    const { phone } = person.user;
    expect((await putMe(person, { phone })).status).toBe(200);
    const wrong = await putMe(person, { phone, current_password: 'not the password' });
    expect([wrong.status, Object.keys(wrong.body.errors)]).toEqual([422, ['current_password']]);
    const created = await harness.send('POST', '/auth/tokens', { as: person.caller, body: { name: 'ci' } });
    const personal = { ...person, caller: await callerOf(harness, created.body.token) };
    expect((await putMe(personal, { phone, current_password: PASSWORD })).status).toBe(200);
    expect(await sentTo(person)).toBe(0);

    const answer = await confirm(person, phone);
    expect([answer.status, answer.body.user]).toEqual([200, person.user]);
    const { data } = (await harness.send('GET', '/notifications', { as: person.caller })).body;
    expect(data.map((one: { data: { change: string } }) => one.data.change)).toEqual(['token_created']);
    expect(await sentTo(person)).toBe(1);
  });

  test('a form that changes other fields sends no code to the current phone', async () => {
    const person = await join(harness);
    const { phone } = person.user;
    expect((await confirm(person, phone)).status).toBe(200);
    const form = { phone, email: registration().email, current_password: PASSWORD };
    expect((await putMe(person, form)).status).toBe(200);
    expect(await sentTo(person)).toBe(1);
    expect((await putMe(person, { phone, current_password: PASSWORD })).status).toBe(200);
    expect(await sentTo(person)).toBe(2);
  });

  test('a form of 1.0.0 that repeats an unproven phone with a new email sends no code', async () => {
    const person = await join(harness);
    const { phone } = person.user;
    await sandbox.setMode('refuse', phone);
    const email = String(registration().email);
    const changed = await putMe(person, { ...person.user, email, current_password: PASSWORD });
    expect([changed.status, changed.body.user]).toEqual([200, { ...person.user, email }]);
    const bank = { bank_account_number: 'IR820540102680020817909002' };
    expect((await putMe(person, { phone, ...bank, current_password: PASSWORD })).status).toBe(200);
    const request = await putMe(person, { phone, current_password: PASSWORD });
    expect([request.status, request.body]).toEqual([
      500,
      { message: 'We could not send a code to this phone number. Nothing was changed.' },
    ]);
    await sandbox.setMode('ok', phone);
    expect(await sentTo(person)).toBe(0);
  });

  test('the code replaces one for another phone, and leaves a deletion code valid', async () => {
    const person = await join(harness);
    const other = newPhone();
    await putMe(person, { phone: other, current_password: PASSWORD });
    const replaced = await sandbox.newestCode(other);
    const deletion = await armDeletion(person);
    const confirmed = await confirm(person, person.user.phone);
    expect([confirmed.status, confirmed.body.user.phone]).toEqual([200, person.user.phone]);
    const body = { code: replaced };
    expect((await harness.send('POST', '/auth/phone/confirm', { as: person.caller, body })).status).toBe(422);
    const commit = { current_password: PASSWORD, confirmation_code: deletion };
    const scheduled = await harness.send('POST', '/auth/delete-account', { as: person.caller, body: commit });
    expect(scheduled.status).toBe(202);
  });
});

test('a setup that races with a reset by SMS leaves no second factor from before the reset', async () => {
  for (let round = 0; round < 2; round += 1) {
    const stranger = await join(harness);
    const { secret } = (await begin(harness, stranger)).body;
    const headers = newAddress();
    const { phone } = stranger.user;
    await harness.send('POST', '/auth/forgot-password', { body: { login: phone }, headers });
    await sandbox.waitFor(phone, 1);
    const body = { login: phone, code: await sandbox.newestCode(phone), password: OWNERS_PASSWORD };
    const [reset] = await Promise.all([
      harness.send('POST', '/auth/reset-password', { body, headers }),
      arm(harness, stranger, codeOf(harness, secret)),
    ]);
    expect(reset.status).toBe(200);
    expect((await logIn(harness, phone, OWNERS_PASSWORD)).status).toBe(200);
  }
});

test('phones of accounts that exist at the upgrade are proven, and later ones are not', async () => {
  const earlier = await join(harness);
  await setUp(harness, earlier);
  const users = harness.database.collection('users');
  // The form in which 1.0.0 stored it.
  await users.updateOne({ _id: earlier.id as never }, { $unset: { phone_proven: 1 } });
  await harness.database.collection('upgrades').deleteMany({});
  await (await startIdentity(harness.config, { clock: harness.clock })).close();
  const upgrade = { _id: 'phones of earlier accounts are proven' as never };
  expect(await harness.database.collection('upgrades').countDocuments(upgrade)).toBe(1);
  const later = await join(harness);
  await setUp(harness, later);
  expect(await keepsSecondFactor(earlier)).toBe(true);
  expect(await keepsSecondFactor(later)).toBe(false);
});

describe('a username that reads as a phone number', () => {
  // src/domain/account-fields.test.ts has more of them.
  test('a username that reads as a phone number is rejected with 422 at registration and at every change', async () => {
    const username = '0935-123-4567';
    const [person, operator] = [await join(harness), await joinAs(harness, 'administrator')];
    const answers = [
      await harness.send('POST', '/auth/register', {
        body: registration({ username }),
        headers: newAddress(),
      }),
      await putMe(person, { username }),
      await harness.send('PUT', `/users/${person.id}`, { as: operator.caller, body: { username } }),
    ];
    for (const { status, body } of answers)
      expect([status, body.errors]).toEqual([422, { username: ['A username cannot be a phone number.'] }]);
  });

  test('an existing username that reads as a phone number can be kept and used to sign in', async () => {
    const [person, operator] = [await join(harness), await joinAs(harness, 'administrator')];
    const username = '09361112233';
    const { database } = harness;
    await database.collection('users').updateOne({ _id: person.id as never }, { $set: { username } });
    await database.collection('login_keys').deleteOne({ _id: `username:${person.user.username}` as never });
    await database
      .collection('login_keys')
      .insertOne({ _id: `username:${username}`, user_id: person.id } as never);
    const body = { username, first_name: 'Other' };
    for (const answer of [
      await putMe(person, body),
      await harness.send('PUT', `/users/${person.id}`, { as: operator.caller, body }),
      await logIn(harness, username),
    ])
      expect([answer.status, answer.body.user.username]).toEqual([200, username]);
  });
});
