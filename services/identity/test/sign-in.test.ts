import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { isLive, join, logIn, PASSWORD, startWorld, type World } from './support.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world.close());

const from = (address: string, login: unknown, password: unknown = PASSWORD) =>
  world.send('POST', '/auth/login', { body: { login, password }, headers: { 'x-client-address': address } });

describe('signing in', () => {
  test('works by user name, e-mail and phone, in any usual spelling', async () => {
    const person = await join(world);
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
      const { status, body } = await logIn(world, login);
      expect([login, status]).toEqual([login, 200]);
      expect(body.user.id).toBe(person.id);
    }
  });

  test('answers the shape of a registration: a fresh token and the whole own resource', async () => {
    const person = await join(world);
    const { body } = await logIn(world, person.user.username);
    expect(body).toEqual({
      token: expect.stringMatching(/^fps_/),
      token_type: 'Bearer',
      expires_at: expect.any(String),
      user: person.user,
    });
    expect(body.token).not.toBe(person.token);
    expect(await isLive(world, body.token)).toBe(true);
    expect(await isLive(world, person.token)).toBe(true);
  });

  test('succeeds while a deletion is pending, and reports both timestamps', async () => {
    const person = await join(world);
    const dates = {
      deletion_requested_at: new Date('2026-01-01T10:00:00Z'),
      deletion_scheduled_at: new Date('2026-01-15T10:00:00Z'),
    };
    await world.database.collection('users').updateOne({ _id: person.id as never }, { $set: dates });
    const { status, body } = await logIn(world, person.user.email);
    expect(status).toBe(200);
    expect(body.user).toMatchObject({
      deletion_requested_at: '2026-01-01 10:00:00',
      deletion_scheduled_at: '2026-01-15 10:00:00',
    });
  });

  test('a phone number signs in its owner, also when somebody took it as a user name', async () => {
    const owner = await join(world);
    await join(world, { username: owner.user.phone.replace('+98', '0') });
    const { body } = await logIn(world, owner.user.phone.replace('+98', '0'));
    expect(body.user.id).toBe(owner.id);
  });
});

describe('a wrong pair', () => {
  test('is 422 under login, the same answer whether or not the account exists', async () => {
    const person = await join(world);
    const wrong = await logIn(world, person.user.username, 'not the password');
    const unknown = await logIn(world, 'nobody.at.all', 'not the password');
    expect(wrong.status).toBe(422);
    expect(wrong.body.errors).toEqual({ login: ['These credentials do not match our records.'] });
    expect(unknown.status).toBe(422);
    expect(unknown.text).toBe(wrong.text);
  });

  test.each([
    ['login', { login: { $gt: '' } }],
    ['login', { login: '' }],
    ['login', { login: 'x'.repeat(256) }],
    ['password', { password: ['x'] }],
    ['password', { password: undefined }],
  ])('a bad %s is 422 under its name', async (field, bad) => {
    const { status, body } = await world.send('POST', '/auth/login', {
      body: { login: 'someone', password: PASSWORD, ...bad },
    });
    expect(status).toBe(422);
    expect(Object.keys(body.errors)).toEqual([field]);
  });
});

describe('the limit of ten a minute', () => {
  test('counts a login from an address; right or wrong, in any spelling; the eleventh is 429', async () => {
    const person = await join(world);
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

  test('tells how much is left', async () => {
    const { headers } = await from('192.0.2.9', 'a.name');
    expect(headers.get('x-ratelimit-limit')).toBe('10');
    expect(headers.get('x-ratelimit-remaining')).toBe('9');
  });

  test('is exact for twenty at once', async () => {
    const person = await join(world);
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => from('192.0.2.3', person.user.username)),
    );
    expect(answers.filter((answer) => answer.status === 200)).toHaveLength(10);
    expect(answers.filter((answer) => answer.status === 429)).toHaveLength(10);
  });

  test('a body that is not valid takes nothing of it', async () => {
    const person = await join(world);
    const { username } = person.user;
    for (let call = 0; call < 11; call += 1) expect((await from('192.0.2.4', username, '')).status).toBe(422);
    expect((await from('192.0.2.4', username)).status).toBe(200);
  });
});

describe('signing out', () => {
  test('204, and the token is dead from then on; other sessions live', async () => {
    const person = await join(world);
    const other = (await logIn(world, person.user.username)).body.token;
    const answer = await world.send('POST', '/auth/logout', { as: person.caller });
    expect([answer.status, answer.text]).toEqual([204, '']);
    expect(await isLive(world, person.token)).toBe(false);
    expect(await isLive(world, other)).toBe(true);
  });

  test('needs a token', async () => {
    const { status, body } = await world.send('POST', '/auth/logout');
    expect([status, body]).toEqual([401, { message: 'Unauthenticated.' }]);
  });
});
