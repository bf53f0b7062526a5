/** Fields that a machine reads lose the format characters and white space that copied texts carry. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import {
  type Harness,
  join,
  joinAs,
  logIn,
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

/** Texts copied from contacts, chats and right-to-left text. */
const COPIES: ((text: string) => string)[] = [
  (text) => `\u202a${text}\u202c`,
  (text) => `\u2066${text}\u2069 `,
  (text) => `${text}\u200e`,
  (text) => ` \ufeff\u200f${text}`,
  (text) => `${text.slice(0, 3)}\u200e${text.slice(3)}`,
];

test('a user signs in with a copied username, email or phone', async () => {
  const { user } = await join(harness);
  const local = user.phone.replace('+98', '0');
  for (const copy of COPIES)
    for (const login of [user.username, user.email, user.phone, local].map(copy))
      expect([login, (await logIn(harness, login)).status]).toEqual([login, 200]);
});

test('a registration stores a copied email, phone and referral code without these characters', async () => {
  const referrer = await join(harness);
  for (const copy of COPIES) {
    const sent = registration();
    const [email, phone] = [String(sent.email), String(sent.phone)];
    const body = {
      ...sent,
      email: copy(email),
      phone: copy(phone),
      referral_code: copy(referrer.user.referral_code),
    };
    const answer = await harness.send('POST', '/auth/register', { body, headers: newAddress() });
    expect([answer.status, answer.body.user]).toMatchObject([
      201,
      { email, phone, referrer_user_id: referrer.id },
    ]);
  }
});

test('a new username with such a character is rejected with 422, and a password keeps it', async () => {
  const person = await join(harness);
  for (const copy of COPIES) {
    const username = copy('copied.name');
    const { status, body } = await harness.send('PUT', '/auth/me', {
      as: person.caller,
      body: { username },
    });
    expect([username, status, Object.keys(body.errors)]).toEqual([username, 422, ['username']]);
  }
  expect((await logIn(harness, person.user.username, `${PASSWORD}\u200e`)).status).toBe(422);
});

test('a copied bank account is stored without these characters', async () => {
  const iban = 'IR820540102680020817909002';
  for (const copy of COPIES) {
    const person = await join(harness);
    const body = { bank_account_number: copy(iban), current_password: PASSWORD };
    const answer = await harness.send('PUT', '/auth/me', { as: person.caller, body });
    expect([answer.status, answer.body.user?.bank_account_number]).toEqual([200, iban]);
  }
});

test('the code of a deletion is judged as sent', async () => {
  const person = await join(harness);
  for (const confirmation_code of ['123456\u200e', ' 123456']) {
    const body = { current_password: PASSWORD, confirmation_code };
    const answer = await harness.send('POST', '/auth/delete-account', { as: person.caller, body });
    expect([answer.status, answer.body.errors]).toEqual([
      422,
      { confirmation_code: ['Enter the 6-digit code from the SMS.'] },
    ]);
  }
});

test('staff find a member by a copied phone or email', async () => {
  const { user } = await join(harness);
  const operator = await joinAs(harness, 'operator');
  for (const copy of COPIES)
    for (const text of [user.phone, user.phone.replace('+98', '0098'), user.email].map(copy)) {
      const { body } = await harness.send('GET', `/users?search=${encodeURIComponent(text)}`, {
        as: operator.caller,
      });
      expect([text, body.data.map(({ id }: { id: number }) => id)]).toEqual([text, [user.id]]);
    }
});
