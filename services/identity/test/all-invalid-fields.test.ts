/** One 422 names every field that can be judged from the body, even if the clock or the account is needed. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import {
  type Harness,
  join,
  joinAs,
  newAddress,
  type Person,
  registration,
  startHarness,
} from './support.ts';

let harness: Harness;
let person: Person;
let operator: Person;
beforeAll(async () => {
  harness = await startHarness();
  person = await join(harness);
  operator = await joinAs(harness, 'operator');
});
afterAll(() => harness.close());

const LANDLINE = '021-8877 6655';
const profile = {
  height: 3,
  username: '0912 345 6789'.replaceAll(' ', ''),
  phone: LANDLINE,
  birth_date: '2999-01-01',
  bank_account_number: 'IR820540102680020817909003',
};
const invalidFields = async (method: 'POST' | 'PUT', path: string, as: Person | undefined, body: object) => {
  const options = as === undefined ? { headers: newAddress() } : { as: as.caller };
  const { status, body: answer } = await harness.send(method, path, { ...options, body });
  return [status, Object.keys(answer.errors ?? {}).toSorted()];
};
const named = (body: object) => [422, Object.keys(body).toSorted()];

test('an update of an account names all of them, by its owner and by an operator', async () => {
  expect(await invalidFields('PUT', '/auth/me', person, profile)).toEqual(named(profile));
  expect(await invalidFields('PUT', `/users/${person.id}`, operator, profile)).toEqual(named(profile));
  expect(await invalidFields('PUT', '/users/999999999', operator, profile)).toEqual(named(profile));
});

test('the values of an account are accepted beside an invalid field, even those of an older release', async () => {
  const own = await join(harness);
  const stored = { username: '09123450000', phone: '+982188776655', bank_account_number: 'IR-12' };
  await harness.database.collection('users').updateOne({ _id: own.id as never }, { $set: stored });
  for (const [path, as] of [
    ['/auth/me', own],
    [`/users/${own.id}`, operator],
  ] as const)
    expect(await invalidFields('PUT', path, as, { ...stored, phone: LANDLINE, height: 3 })).toEqual([
      422,
      ['height'],
    ]);
});

test('a registration names a landline and a password that is a name', async () => {
  const body = registration({ phone: LANDLINE, first_name: '' });
  const { username: password } = registration();
  expect(
    await invalidFields('POST', '/auth/register', undefined, { ...body, username: password, password }),
  ).toEqual([422, ['first_name', 'password', 'phone']]);
});

test('a new personal token names its permissions and its expiry', async () => {
  const body = { name: '', permissions: ['users.view_all'], expires_at: '2020-01-01 00:00:00' };
  expect(await invalidFields('POST', '/auth/tokens', person, body)).toEqual(named(body));
});

test('preferences name an unknown language and an email that cannot be turned off', async () => {
  const body = { locale: 'xx', types: { security_alert: { email: false, push: 1 } } };
  expect(await invalidFields('PUT', '/notifications/preferences', person, body)).toEqual([
    422,
    ['locale', 'types.security_alert.email', 'types.security_alert.push'],
  ]);
});
