/** A new phone takes effect once the code that was sent to it is confirmed. */
import { MINUTE_MS, systemRandom } from '@fitness/shared/kernel/clock.ts';
import { createLog } from '@fitness/shared/kernel/log.ts';
import type { Answer } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createSendCode } from '../src/app/sign-in/send-code.ts';
import { createStore } from '../src/store/store.ts';
import { type SmsSandbox, startSmsSandbox } from './sms-sandbox.ts';
import {
  callerOf,
  type Harness,
  join,
  joinAs,
  logIn,
  newAddress,
  noEpochs,
  PASSWORD,
  type Person,
  registration,
  startHarness,
} from './support.ts';

let sandbox: SmsSandbox;
let harness: Harness;
/** The daily limit in these tests; src/config.test.ts has the default. */
const SMS_PER_PHONE = 4;
beforeAll(async () => {
  sandbox = await startSmsSandbox();
  harness = await startHarness({
    KAVENEGAR_BASE_URL: sandbox.kavenegarUrl,
    SMS_SIGNED_IN_PER_PHONE: String(SMS_PER_PHONE),
  });
});
afterAll(async () => {
  await harness.close();
  await sandbox.close();
});

const put = (person: Person, body: Record<string, unknown>): Promise<Answer> =>
  harness.send('PUT', '/auth/me', { as: person.caller, body: { current_password: PASSWORD, ...body } });
const confirm = (person: Person, code: string): Promise<Answer> =>
  harness.send('POST', '/auth/phone/confirm', { as: person.caller, body: { code } });
const newPhone = (): string => String(registration().phone);
const userOf = async (person: Person) =>
  (await harness.send('GET', '/auth/me', { as: person.caller })).body.user;
const wrong = (code: string, offset = 1): string =>
  String((Number(code) + offset) % 1_000_000).padStart(6, '0');

interface Request {
  person: Person;
  phone: string;
  code: string;
}

/** A person who has requested a new phone. */
const requested = async (): Promise<Request> => {
  const person = await join(harness);
  const phone = newPhone();
  expect((await put(person, { phone })).status).toBe(200);
  return { person, phone, code: await sandbox.newestCode(phone) };
};

const expectRejected = ({ status, body }: Answer): void =>
  expect([status, body.errors]).toEqual([422, { code: ['This code is not valid or has expired.'] }]);

describe('a new phone', () => {
  test('a new phone takes effect only once its code is confirmed', async () => {
    const { person, phone, code } = await requested();
    expect(code).toMatch(/^\d{6}$/);
    expect((await sandbox.received(phone))[0]?.message).toBe(`Your code to confirm this number: ${code}`);
    expect(await sandbox.received(person.user.phone)).toEqual([]);
    expect(await userOf(person)).toEqual(person.user);
    expect((await logIn(harness, phone)).status).toBe(422);
    expect((await logIn(harness, person.user.phone)).status).toBe(200);

    const { status, body } = await confirm(person, code);
    expect([status, body]).toEqual([200, { user: { ...person.user, phone } }]);
    expect(await userOf(person)).toEqual({ ...person.user, phone });
    expect((await logIn(harness, phone)).body.user.id).toBe(person.id);
    expect((await logIn(harness, person.user.phone)).status).toBe(422);
    await join(harness, { phone: person.user.phone });
  });

  test('the response has the old phone, and the other fields of the request change at once', async () => {
    const person = await join(harness);
    const fields = { height: 171, bank_account_number: 'IR820540102680020817909002' };
    const { status, body } = await put(person, { phone: newPhone(), ...fields });
    expect([status, body]).toEqual([200, { user: { ...person.user, ...fields } }]);
  });

  test('deletion codes are sent to the old phone until the new one is confirmed', async () => {
    const { person, phone } = await requested();
    const body = { current_password: PASSWORD };
    const armed = await harness.send('POST', '/auth/delete-account', { as: person.caller, body });
    expect(armed.status).toBe(200);
    expect(await sandbox.received(phone)).toHaveLength(1);
    expect(await sandbox.received(person.user.phone)).toHaveLength(1);
  });

  test('another new phone replaces the requested one and its code', async () => {
    const { person, phone: first, code: firstCode } = await requested();
    const second = newPhone();
    expect((await put(person, { phone: second })).status).toBe(200);
    const secondCode = await sandbox.newestCode(second);
    if (firstCode !== secondCode) expectRejected(await confirm(person, firstCode));
    expect((await confirm(person, secondCode)).body.user.phone).toBe(second);
    expect((await logIn(harness, first)).status).toBe(422);
  });

  test('only the current phone, in any spelling, withdraws the new one, without the password', async () => {
    const { person, phone, code } = await requested();
    const as = person.caller;
    expect((await harness.send('PUT', '/auth/me', { as, body: { height: 180 } })).status).toBe(200);
    expect((await confirm(person, code)).body.user.phone).toBe(phone);

    const other = await requested();
    const body = { phone: other.person.user.phone.replace('+98', '0') };
    expect((await harness.send('PUT', '/auth/me', { as: other.person.caller, body })).status).toBe(200);
    expectRejected(await confirm(other.person, other.code));
    expect((await userOf(other.person)).phone).toBe(other.person.user.phone);
  });

  test('a new phone is withdrawn when the password or the phone changes in another way', async () => {
    const operator = await joinAs(harness, 'operator');
    const changes: ((person: Person) => Promise<Answer>)[] = [
      ({ caller: as }) =>
        harness.send('PUT', '/auth/change-password', {
          as,
          body: { current_password: PASSWORD, password: 'another password of mine' },
        }),
      ({ id }) => harness.send('PUT', `/users/${id}`, { as: operator.caller, body: { phone: newPhone() } }),
      async ({ user }) => {
        const login = user.username;
        await harness.send('POST', '/auth/forgot-password', { body: { login }, headers: newAddress() });
        await sandbox.waitFor(user.phone, 1);
        const code = await sandbox.newestCode(user.phone);
        const body = { login, code, password: 'another password of mine' };
        return harness.send('POST', '/auth/reset-password', { body, headers: newAddress() });
      },
    ];
    for (const change of changes) {
      const { person, code } = await requested();
      expect((await change(person)).status).toBe(200);
      expectRejected(await confirm(person, code));
    }
  });

  test('a taken phone or another invalid field is refused before an SMS is sent', async () => {
    const [person, other] = [await join(harness), await join(harness)];
    const refused = await put(person, { phone: other.user.phone });
    expect([refused.status, Object.keys(refused.body.errors)]).toEqual([422, ['phone']]);
    expect(await sandbox.received(other.user.phone)).toEqual([]);
    const phone = newPhone();
    for (const body of [
      { phone, username: other.user.username },
      { phone, current_password: 'wrong' },
      { phone, birth_date: '2999-01-01' },
    ]) {
      expect((await put(person, body)).status).toBe(422);
    }
    expect(await sandbox.received(phone)).toEqual([]);
  });
});

describe('a code', () => {
  test('the code for a new phone is valid for exactly ten minutes', async () => {
    const late = await requested();
    harness.clock.advance(10 * MINUTE_MS);
    expectRejected(await confirm(late.person, late.code));
    const inTime = await requested();
    harness.clock.advance(10 * MINUTE_MS - 1);
    expect((await confirm(inTime.person, inTime.code)).status).toBe(200);
  });

  test('the code survives four wrong attempts, but not the fifth', async () => {
    const four = await requested();
    for (let offset = 1; offset <= 4; offset += 1)
      expectRejected(await confirm(four.person, wrong(four.code, offset)));
    expect((await confirm(four.person, four.code)).status).toBe(200);
    const five = await requested();
    for (let offset = 1; offset <= 5; offset += 1) await confirm(five.person, wrong(five.code, offset));
    expectRejected(await confirm(five.person, five.code));
    expect((await userOf(five.person)).phone).toBe(five.person.user.phone);
  });

  test('twenty concurrent guesses have at most five attempts at the code', async () => {
    const { person, code } = await requested();
    await Promise.all(Array.from({ length: 20 }, (_, index) => confirm(person, wrong(code, index + 1))));
    const row = await harness.database.collection('confirmation_codes').findOne({ _id: person.id as never });
    expect(row?.phone.tries).toBe(5);
    expectRejected(await confirm(person, code));
  });

  test('a code in Persian and Arabic digits is accepted', async () => {
    const { person, code } = await requested();
    const typed = code.replaceAll(/\d/g, (digit, at: number) =>
      (at % 2 === 0 ? '۰۱۲۳۴۵۶۷۸۹' : '٠١٢٣٤٥٦٧٨٩').charAt(Number(digit)),
    );
    expect((await confirm(person, typed)).status).toBe(200);
  });

  test('a code of another account or purpose, or one that was used, is rejected', async () => {
    const { person, code } = await requested();
    const other = await join(harness);
    expectRejected(await confirm(other, code));
    const body = { current_password: PASSWORD };
    await harness.send('POST', '/auth/delete-account', { as: other.caller, body });
    expectRejected(await confirm(other, await sandbox.newestCode(other.user.phone)));
    expect((await confirm(person, code)).status).toBe(200);
    expectRejected(await confirm(person, code));
  });

  test('a body without a code of six digits is rejected with 422 under code', async () => {
    const person = await join(harness);
    for (const body of [{}, { code: '12345' }, { code: '1234567' }, { code: 123456 }, { code: null }]) {
      const answer = await harness.send('POST', '/auth/phone/confirm', { as: person.caller, body });
      expect([body, answer.status, Object.keys(answer.body.errors)]).toEqual([body, 422, ['code']]);
    }
  });

  test('only a session can confirm a code', async () => {
    const { person, code } = await requested();
    const made = await harness.send('POST', '/auth/tokens', { as: person.caller, body: { name: 'ci' } });
    const personal = { ...person, caller: await callerOf(harness, made.body.token) };
    expect((await confirm(personal, code)).status).toBe(403);
    expect((await harness.send('POST', '/auth/phone/confirm', { body: { code } })).status).toBe(401);
    expect((await confirm(person, code)).status).toBe(200);
  });

  test('the code is stored only as a hash', async () => {
    const { person, phone, code } = await requested();
    const row = await harness.database.collection('confirmation_codes').findOne({ _id: person.id as never });
    expect(row?.phone).toMatchObject({ phone, hash: expect.stringMatching(/^[0-9a-f]{64}$/) });
    expect(Object.values(row?.phone)).not.toContain(code);
  });
});

describe('concurrent confirmations', () => {
  test('exactly one of several confirmations with the same code succeeds', async () => {
    const { person, phone, code } = await requested();
    const answers = await Promise.all(Array.from({ length: 5 }, () => confirm(person, code)));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 422, 422, 422, 422]);
    for (const answer of answers.filter(({ status }) => status === 422)) expectRejected(answer);
    expect((await userOf(person)).phone).toBe(phone);
  });

  test('one of several accounts gets the same new phone, and the others keep theirs', async () => {
    const phone = newPhone();
    const requests: { person: Person; code: string }[] = [];
    for (let index = 0; index < SMS_PER_PHONE; index += 1) {
      const person = await join(harness);
      expect((await put(person, { phone })).status).toBe(200);
      requests.push({ person, code: await sandbox.newestCode(phone) });
    }
    const answers = await Promise.all(requests.map(({ person, code }) => confirm(person, code)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    for (const [index, { status, body }] of answers.entries()) {
      if (status === 200) continue;
      expect([status, body.errors]).toEqual([
        422,
        { code: ['Another account is using this phone number now. Please choose a different one.'] },
      ]);
      const { person } = requests[index] as { person: Person };
      expect((await userOf(person)).phone).toBe(person.user.phone);
    }
  });
});

describe('failures of the SMS', () => {
  const failed = [500, { message: 'We could not send a code to this phone number. Nothing was changed.' }];

  test('a refused SMS changes nothing, and an earlier code stays valid', async () => {
    const { person, phone, code } = await requested();
    const license = { trainer_license_image: 'license.pdf', trainer_license_media_id: 5 };
    await harness.database.collection('users').updateOne({ _id: person.id as never }, { $set: license });
    const before = await userOf(person);
    const unsent = newPhone();
    await sandbox.setMode('refuse', unsent);
    const changes = {
      phone: unsent,
      height: 180,
      bank_account_number: 'IR820540102680020817909002',
      trainer_license_image: null,
    };
    const answer = await put(person, changes);
    expect([answer.status, answer.body]).toEqual(failed);
    expect(await userOf(person)).toEqual(before);
    expect(harness.standIns.deletedLicensesOf).not.toContain(person.id);
    expect((await confirm(person, code)).body.user.phone).toBe(phone);
  });

  test('an SMS with an unknown outcome changes nothing, but invalidates an earlier code', async () => {
    const { person, code } = await requested();
    const unsent = newPhone();
    await sandbox.setMode('unreachable', unsent);
    const answer = await put(person, { phone: unsent, height: 180 });
    expect([answer.status, answer.body]).toEqual(failed);
    expect(await userOf(person)).toEqual(person.user);
    expectRejected(await confirm(person, code));
  });
});

test('a request that fails after its SMS changes nothing, and an earlier code stays valid', async () => {
  const { person, phone, code } = await requested();
  const license = { trainer_license_image: 'license.pdf', trainer_license_media_id: 6 };
  await harness.database.collection('users').updateOne({ _id: person.id as never }, { $set: license });
  const before = await userOf(person);
  const other = newPhone();
  harness.standIns.whileDeleting = () => Promise.reject(new Error('out of order'));
  const answer = await put(person, { phone: other, height: 180, trainer_license_image: null });
  harness.standIns.whileDeleting = undefined;
  expect(answer.status).toBe(503);
  expect(await userOf(person)).toEqual(before);
  const withdrawn = await sandbox.newestCode(other);
  if (withdrawn !== code) expectRejected(await confirm(person, withdrawn));
  expect((await confirm(person, code)).body.user.phone).toBe(phone);
});

test('the daily SMS to a phone are limited over all accounts, and a refused request has no effect', async () => {
  const [one, other] = [await join(harness), await join(harness)];
  const phone = newPhone();
  for (let call = 1; call <= SMS_PER_PHONE; call += 1) expect((await put(one, { phone })).status).toBe(200);
  const refused = await put(other, { phone, height: 180 });
  expect([refused.status, refused.body]).toEqual([
    429,
    { message: 'Too many requests. Please try again later.' },
  ]);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(80_000);
  expect(await sandbox.received(phone)).toHaveLength(SMS_PER_PHONE);
  expect(await userOf(other)).toEqual(other.user);
});

describe('an erasure', () => {
  test('an erasure deletes the new phone', async () => {
    const { person } = await requested();
    const administrator = await joinAs(harness, 'administrator');
    const erased = await harness.send('DELETE', `/users/${person.id}`, { as: administrator.caller });
    expect(erased.status).toBe(204);
    const codes = harness.database.collection('confirmation_codes');
    expect(await codes.findOne({ _id: person.id as never })).toBeNull();
  });

  test('no new phone is stored after an erasure', async () => {
    const person = await join(harness);
    const administrator = await joinAs(harness, 'administrator');
    await harness.send('DELETE', `/users/${person.id}`, { as: administrator.caller });
    const sent: unknown[] = [];
    const sendCode = createSendCode({
      store: createStore(harness.database, createLog({ service: 'test', level: 'silent' }), noEpochs),
      sms: {
        send: async (sms) => {
          sent.push(sms);
          return { outcome: 'sent' };
        },
        close: async () => undefined,
      },
      clock: harness.clock,
      random: systemRandom,
    });
    const recipient = { userId: person.id, phone: newPhone(), locale: 'en' };
    await expect(sendCode('phone', recipient)).rejects.toMatchObject({ kind: 'unauthenticated' });
    const codes = harness.database.collection('confirmation_codes');
    expect([sent, await codes.findOne({ _id: person.id as never })]).toEqual([[], null]);
  });
});
