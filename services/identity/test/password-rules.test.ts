/** New passwords must be neither common nor a name of their account. */
import { eventually } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startSandbox } from '../../../sandbox/src/service.ts';
import {
  type Harness,
  join,
  logIn,
  newAddress,
  PASSWORD,
  type Person,
  registration,
  startHarness,
} from './support.ts';

let harness: Harness;
let sandbox: Awaited<ReturnType<typeof startSandbox>>;
beforeAll(async () => {
  sandbox = await startSandbox();
  harness = await startHarness({ KAVENEGAR_BASE_URL: `${sandbox.url}/kavenegar` });
});
afterAll(async () => {
  await harness.close();
  await sandbox.close();
});

const COMMON = 'This password is too common. Choose another one.';
const NAME = 'Your password must not be your username, email address, or phone number.';

type Names = { username: string; email: string; phone: string };

const REFUSED: [string, (names: Names) => string, string][] = [
  ['a common password', () => 'Password123', COMMON],
  ['the username', ({ username }) => username.toUpperCase(), NAME],
  ['the email', ({ email }) => email.toUpperCase(), NAME],
  ['the phone', ({ phone }) => phone.replace('+98', '0'), NAME],
];

const names = (): Names & Record<string, unknown> => {
  const fields = registration() as Names & Record<string, unknown>;
  return { ...fields, username: `a.long.${fields.username}` };
};

describe.each(REFUSED)('%s as a new password', (what, passwordOf, text) => {
  const refusal = [422, { password: [text] }];

  test(`${what} is refused as a password at registration`, async () => {
    const fields = names();
    const body = { ...fields, password: passwordOf(fields) };
    const answer = await harness.send('POST', '/auth/register', { body, headers: newAddress() });
    expect([answer.status, answer.body.errors]).toEqual(refusal);
  });

  test(`${what} is refused when a password is changed`, async () => {
    const person = await join(harness, names());
    const body = { current_password: PASSWORD, password: passwordOf(person.user) };
    const answer = await harness.send('PUT', '/auth/change-password', { as: person.caller, body });
    expect([answer.status, answer.body.errors]).toEqual(refusal);
    expect((await logIn(harness, person.user.username)).status).toBe(200);
  });

  test(`${what} is refused when a password is reset, and the code stays valid`, async () => {
    const person = await join(harness, names());
    const { username } = person.user;
    await harness.send('POST', '/auth/forgot-password', { body: { login: username }, headers: newAddress() });
    const code = await codeOf(person);
    const reset = (password: string) =>
      harness.send('POST', '/auth/reset-password', {
        body: { login: username, code, password },
        headers: newAddress(),
      });
    const answer = await reset(passwordOf(person.user));
    expect([answer.status, answer.body.errors]).toEqual(refusal);
    expect((await reset('another good password')).status).toBe(200);
  });
});

test('a reset does not reveal the names of an account without its code', async () => {
  const person = await join(harness, names());
  const body = { login: person.user.username, code: '00000000', password: person.user.phone };
  const answer = await harness.send('POST', '/auth/reset-password', { body, headers: newAddress() });
  expect([answer.status, Object.keys(answer.body.errors)]).toEqual([422, ['code']]);
});

const codeOf = (person: Person): Promise<string> =>
  eventually(async () => {
    const answer = await fetch(
      `${sandbox.url}/_sandbox/sms?receptor=${encodeURIComponent(person.user.phone)}`,
    );
    return ((await answer.json()) as { data: { code: string }[] }).data[0]?.code;
  });
