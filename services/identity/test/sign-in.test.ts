import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import { inTransaction } from '@fitness/shared/mongo/transaction.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { hashToken } from '../src/domain/token.ts';
import { createTokens } from '../src/store/tokens.ts';
import { createUsers, type FoundLogin } from '../src/store/users.ts';
import {
  type Harness,
  isLive,
  join,
  logIn,
  PASSWORD,
  type Person,
  revocations,
  startHarness,
} from './support.ts';

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
});
afterAll(() => harness.close());

const from = (address: string, login: unknown, password: unknown = PASSWORD) =>
  harness.send('POST', '/auth/login', {
    body: { login, password },
    headers: { 'x-client-address': address },
  });

describe('signing in', () => {
  test('a user signs in by username, email or phone in any usual spelling', async () => {
    const person = await join(harness);
    const { username, email, phone } = person.user;
    const logins = [
      username,
      username.toUpperCase(),
      ` ${email.toUpperCase()}`,
      phone,
      phone.replace('+98', '0'),
      phone.replace('+98', '0098'),
      phone.replace('+98912', '۰۹۱۲ '),
    ];
    for (const login of logins) {
      const { status, body } = await logIn(harness, login);
      expect([login, status]).toEqual([login, 200]);
      expect(body.user.id).toBe(person.id);
    }
  });

  test('signing in returns a new token and the full resource, as a registration does', async () => {
    const person = await join(harness);
    const { body } = await logIn(harness, person.user.username);
    expect(body).toEqual({
      token: expect.stringMatching(/^fps_/),
      token_type: 'Bearer',
      expires_at: expect.any(String),
      user: person.user,
    });
    expect(body.token).not.toBe(person.token);
    expect(await isLive(harness, body.token)).toBe(true);
    expect(await isLive(harness, person.token)).toBe(true);
  });

  test('signing in succeeds while a deletion is pending, and returns both timestamps', async () => {
    const person = await join(harness);
    const dates = {
      deletion_requested_at: new Date('2026-01-01T10:00:00Z'),
      deletion_scheduled_at: new Date('2026-01-15T10:00:00Z'),
    };
    await harness.database.collection('users').updateOne({ _id: person.id as never }, { $set: dates });
    const { status, body } = await logIn(harness, person.user.email);
    expect(status).toBe(200);
    expect(body.user).toMatchObject({
      deletion_requested_at: '2026-01-01 10:00:00',
      deletion_scheduled_at: '2026-01-15 10:00:00',
    });
  });

  test('a phone number finds its owner, even if 1.0.0 allowed it as another user’s username', async () => {
    const [owner, other] = [await join(harness), await join(harness)];
    const _id = `username:${owner.user.phone.replace('+98', '0')}`;
    await harness.database.collection('login_keys').insertOne({ _id, user_id: other.id } as never);
    const { body } = await logIn(harness, owner.user.phone.replace('+98', '0'));
    expect(body.user.id).toBe(owner.id);
  });
});

describe('wrong credentials', () => {
  test('wrong credentials return the same 422 under login whether or not the account exists', async () => {
    const person = await join(harness);
    const wrong = await logIn(harness, person.user.username, 'not the password');
    const unknown = await logIn(harness, 'nobody.at.all', 'not the password');
    expect(wrong.status).toBe(422);
    expect(wrong.body.errors).toEqual({
      login: ['Incorrect username or password.'],
    });
    expect(unknown.status).toBe(422);
    expect(unknown.text).toBe(wrong.text);
  });

  test.each([
    ['login', { login: { $gt: '' } }],
    ['login', { login: '' }],
    ['login', { login: 'x'.repeat(256) }],
    ['password', { password: ['x'] }],
    ['password', { password: undefined }],
  ])('an invalid %s is rejected with 422 under its name', async (field, invalid) => {
    const { status, body } = await harness.send('POST', '/auth/login', {
      body: { login: 'someone', password: PASSWORD, ...invalid },
    });
    expect(status).toBe(422);
    expect(Object.keys(body.errors)).toEqual([field]);
  });
});

describe('the limit of ten a minute', () => {
  test('the limit counts successes and failures of a login, in any spelling, from one address', async () => {
    const person = await join(harness);
    const { username } = person.user;
    for (let call = 0; call < 5; call += 1) {
      expect((await from('192.0.2.1', username)).status).toBe(200);
      expect((await from('192.0.2.1', username.toUpperCase(), 'not the password')).status).toBe(422);
    }
    const refused = await from('192.0.2.1', username);
    expect(refused.status).toBe(429);
    expect(refused.body).toEqual({ message: 'Too many requests. Please try again later.' });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(refused.headers.get('x-ratelimit-limit')).toBe('10');
    expect(refused.headers.get('x-ratelimit-remaining')).toBe('0');

    expect((await from('192.0.2.2', username)).status).toBe(200);
    expect((await from('192.0.2.1', 'somebody.else')).status).toBe(422);
  });

  test('only the 429 reveals the limit, because a remainder would link the names of an account', async () => {
    const person = await join(harness);
    const answers = [
      await from('192.0.2.9', person.user.username, 'not the password'),
      await from('192.0.2.9', person.user.phone, 'not the password'),
      await from('192.0.2.9', 'a.name', 'not the password'),
      await from('192.0.2.9', person.user.username),
    ];
    expect(answers.map(({ status }) => status)).toEqual([422, 422, 422, 200]);
    for (const { headers } of answers)
      expect([...headers.keys()].filter((name) => name.startsWith('x-ratelimit'))).toEqual([]);
  });

  test('the limit does not count invalid requests', async () => {
    const person = await join(harness);
    const { username } = person.user;
    for (let call = 0; call < 11; call += 1) expect((await from('192.0.2.4', username, '')).status).toBe(422);
    expect((await from('192.0.2.4', username)).status).toBe(200);
  });
});

describe('signing out', () => {
  test('signing out revokes the token at once, and no other session', async () => {
    const person = await join(harness);
    const other = (await logIn(harness, person.user.username)).body.token;
    const answer = await harness.send('POST', '/auth/logout', { as: person.caller });
    expect([answer.status, answer.text]).toEqual([204, '']);
    expect(await isLive(harness, person.token)).toBe(false);
    expect(await isLive(harness, other)).toBe(true);
  });

  test('signing out requires a token', async () => {
    const { status, body } = await harness.send('POST', '/auth/logout');
    expect([status, body]).toEqual([401, { message: 'Sign in to continue.' }]);
  });
});

describe('changes of an account during a sign-in', () => {
  const stores = () => ({
    users: createUsers(harness.database, revocations),
    tokens: createTokens(harness.database, revocations),
  });
  const inOneTransaction = <T>(work: (session: ClientSession) => Promise<T>) =>
    inTransaction(harness.database, work);

  const find = async (person: Person): Promise<FoundLogin> => {
    const match = await stores().users.findLogin(person.user.username);
    if (match === null) throw new Error('the account was not found');
    return match;
  };

  let rows = 0;
  const storeSession = ({ user, key }: FoundLogin): Promise<boolean> => {
    rows += 1;
    const row = {
      _id: hashToken(`session ${rows}`),
      user_id: user._id,
      kind: 'session' as const,
      token_number: rows,
      name: null,
      permissions: null,
      created_at: new Date(0),
      expires_at: new Date('2100-01-01T00:00:00Z'),
    };
    return inOneTransaction((session) => stores().tokens.insertSession(session, row, key, 'network'));
  };

  /** Whether a sign-in stores its session if `meanwhile` happens after the account was found. */
  const isStoredAfter = async (
    meanwhile: (id: number, username: string) => Promise<unknown>,
  ): Promise<boolean> => {
    const person = await join(harness);
    const match = await find(person);
    await meanwhile(person.id, person.user.username);
    const tokens = harness.database.collection('tokens');
    const before = await tokens.countDocuments({ user_id: person.id });
    const isStored = await storeSession(match);
    expect(await tokens.countDocuments({ user_id: person.id })).toBe(before + (isStored ? 1 : 0));
    return isStored;
  };

  test('a sign-in stores a session if the account has not changed', async () => {
    expect(await isStoredAfter(async () => undefined)).toBe(true);
  });

  test('no session is stored if the credentials were revoked, even for a key without a stamp', async () => {
    const revoke = (id: number) => inOneTransaction((session) => stores().tokens.revokeAll(session, id));
    expect(await isStoredAfter(revoke)).toBe(false);
    const person = await join(harness);
    const keys = harness.database.collection('login_keys');
    await keys.updateMany({ user_id: person.id }, { $unset: { stamp: 1 } });
    const match = await find(person);
    expect(await storeSession(match)).toBe(true);
    await revoke(person.id);
    expect(await storeSession(match)).toBe(false);
  });

  test('no session is stored if the other credentials were revoked', async () => {
    const revoke = (id: number) =>
      inOneTransaction((session) => stores().tokens.revokeOthers(session, id, 'kept'));
    expect(await isStoredAfter(revoke)).toBe(false);
  });

  test('no session is stored if the account was erased', async () => {
    const { users } = stores();
    const erase = (id: number) =>
      inOneTransaction((session) => users.erase(session, id, harness.clock.now()));
    expect(await isStoredAfter(erase)).toBe(false);
  });

  test('no session is stored if the username was released, even if it was claimed again', async () => {
    const { users } = stores();
    const rename = (id: number, username: string) =>
      inOneTransaction((session) => users.update(session, id, { username }));
    expect(await isStoredAfter((id, username) => rename(id, `${username}.new`))).toBe(false);
    const thereAndBack = async (id: number, username: string): Promise<void> => {
      await rename(id, `${username}.new`);
      await rename(id, username);
    };
    expect(await isStoredAfter(thereAndBack)).toBe(false);
  });
});
