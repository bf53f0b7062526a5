import { createHmac } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { SignJWT } from 'jose';
import { ManualClock } from '../testing/manual-clock.ts';
import {
  ALL_TOKEN_KINDS,
  type Caller,
  can,
  createCallerSigner,
  GUEST,
  isOwn,
  ownerIdOf,
  type UserCaller,
} from './caller.ts';
import { SECOND_MS } from './clock.ts';

const SECRET = 'a secret of at least thirty-two characters';
const user: UserCaller = {
  kind: 'user',
  userId: 7,
  permissions: new Set(['posts.view', 'payments.view_own']),
  tokenId: 'token-7',
  tokenKind: 'personal',
};

const setUp = (secret = SECRET) => {
  const clock = new ManualClock();
  return { clock, signer: createCallerSigner(secret, clock) };
};

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const decode = (part: string | undefined): Record<string, unknown> =>
  JSON.parse(Buffer.from(part ?? '', 'base64url').toString('utf8')) as Record<string, unknown>;

test.each([
  ['a user', { from: 'gateway', caller: user }],
  ['a guest', { from: 'identity', caller: GUEST }],
  [
    'a user with withheld permissions',
    { from: 'gateway', caller: { ...user, withheld: new Set(['users.delete'] as const) } },
  ],
  ...ALL_TOKEN_KINDS.map((tokenKind): [string, { from: string; caller: Caller }] => [
    `a user with a token of kind ${tokenKind}`,
    { from: 'gateway', caller: { ...user, tokenKind } },
  ]),
])('%s is known again as signed', async (_who, context) => {
  const { signer } = setUp();
  expect(await signer.verify(await signer.sign(context))).toEqual(context);
});

test('a process reuses one token for its own calls for five seconds, and gets a new one for each user', async () => {
  const { clock, signer } = setUp();
  const own = () => signer.sign({ from: 'identity', caller: GUEST });
  const first = await own();
  clock.advance(4 * SECOND_MS);
  expect(await own()).toBe(first);
  clock.advance(SECOND_MS);
  expect(await own()).not.toBe(first);
  const others = await signer.sign({ from: 'gateway', caller: GUEST });
  expect(await signer.verify(others)).toEqual({ from: 'gateway', caller: GUEST });
  const users = await Promise.all(
    [7, 8].map((userId) => signer.sign({ from: 'identity', caller: { ...user, userId } })),
  );
  expect(new Set(users).size).toBe(2);
});

describe('a context is refused', () => {
  test('when it is missing or is no token at all', async () => {
    const { signer } = setUp();
    for (const token of [undefined, '', 'x', 'a.b.c', '..', `${'a'.repeat(10_000)}.b.c`]) {
      expect(await signer.verify(token)).toBeUndefined();
    }
  });

  test('when it is older than half a minute and the clock tolerance', async () => {
    const { clock, signer } = setUp();
    const token = await signer.sign({ from: 'gateway', caller: user });
    clock.advance(39 * SECOND_MS);
    expect(await signer.verify(token)).toBeDefined();
    clock.advance(2 * SECOND_MS);
    await expect(signer.verify(token)).rejects.toMatchObject({ kind: 'unavailable' });
  });

  test('when a cached token of a process has expired', async () => {
    const { clock, signer } = setUp();
    const token = await signer.sign({ from: 'identity', caller: GUEST });
    expect(await signer.verify(token)).toEqual({ from: 'identity', caller: GUEST });
    clock.advance(41 * SECOND_MS);
    await expect(signer.verify(token)).rejects.toMatchObject({ kind: 'unavailable' });
  });

  test('when another secret signed it', async () => {
    const { clock, signer } = setUp();
    const other = setUp('another secret of thirty-two characters').signer;
    const forged = await other.sign({ from: 'gateway', caller: user });
    expect(await signer.verify(forged)).toBeUndefined();
    clock.advance(41 * SECOND_MS);
    expect(await signer.verify(forged)).toBeUndefined();
  });

  test('when any part of it was changed', async () => {
    const { signer } = setUp();
    const [header, payload, signature] = (await signer.sign({ from: 'gateway', caller: user })).split('.');
    const claims = decode(payload);
    for (const change of [{ sub: '8' }, { permissions: ['roles.manage'] }, { exp: 9_999_999_999 }]) {
      const forged = `${header}.${encode({ ...claims, ...change })}.${signature}`;
      expect(await signer.verify(forged)).toBeUndefined();
    }
    expect(await signer.verify(`${header}.${payload}.${signature?.slice(0, -2)}`)).toBeUndefined();
  });

  test('with the algorithm `none` or another algorithm', async () => {
    const { signer } = setUp();
    const [header, payload] = (await signer.sign({ from: 'gateway', caller: user })).split('.');
    for (const alg of ['none', 'None', 'NONE']) {
      const unsigned = encode({ ...decode(header), alg });
      expect(await signer.verify(`${unsigned}.${payload}.`)).toBeUndefined();
    }
    const stronger = `${encode({ alg: 'HS512' })}.${payload}`;
    const signature = createHmac('sha512', SECRET).update(stronger).digest('base64url');
    expect(await signer.verify(`${stronger}.${signature}`)).toBeUndefined();
  });

  const signed = (claims: Record<string, unknown>, audience = 'fitness-internal') => {
    const now = new ManualClock().now().getTime() / SECOND_MS;
    const jwt = new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).setAudience(audience);
    return jwt.setExpirationTime(now + 30).sign(new TextEncoder().encode(SECRET));
  };

  test('with another audience or other claims', async () => {
    const { signer } = setUp();
    expect(await signer.verify(await signed({ iss: 'gateway' }))).toEqual({ from: 'gateway', caller: GUEST });
    expect(await signer.verify(await signed({ iss: 'gateway' }, 'elsewhere'))).toBeUndefined();
    expect(await signer.verify(await signed({}))).toBeUndefined();
    expect(await signer.verify(await signed({ iss: 'gateway', sub: 'seven' }))).toBeUndefined();
    const complete = { iss: 'gateway', sub: '7', permissions: [], token_id: 't', token_kind: 'restricted' };
    expect(await signer.verify(await signed(complete))).toMatchObject({
      caller: { tokenKind: 'restricted' },
    });
    expect(await signer.verify(await signed({ ...complete, token_kind: 'root' }))).toBeUndefined();
    // A caller whose token is not known to be restricted must not count as a session.
    for (const missing of ['token_kind', 'permissions', 'token_id'])
      expect([missing, await signer.verify(await signed({ ...complete, [missing]: undefined }))]).toEqual([
        missing,
        undefined,
      ]);
  });
});

test('a restricted or OAuth token sees what is its user’s own only with the permission that covers it', () => {
  const as = (tokenKind: UserCaller['tokenKind']): Caller => ({ ...user, tokenKind });
  for (const kind of ['session', 'personal'] as const) {
    expect([isOwn(as(kind), 7), isOwn(as(kind), 7, 'gyms.update'), isOwn(as(kind), 8)]).toEqual([
      true,
      true,
      false,
    ]);
  }
  for (const kind of ['restricted', 'oauth'] as const) {
    expect([isOwn(as(kind), 7), isOwn(as(kind), 7, 'gyms.update')]).toEqual([false, false]);
    expect([isOwn(as(kind), 7, 'posts.view'), isOwn(as(kind), 8, 'posts.view')]).toEqual([true, false]);
    expect(ownerIdOf(as(kind), 'posts.view')).toBe(7);
  }
  expect([isOwn(GUEST, undefined), isOwn(GUEST, null), isOwn(as('session'), undefined)]).toEqual([
    false,
    false,
    false,
  ]);
});

test('an unknown permission is removed; a guest has none', async () => {
  const { signer } = setUp();
  const stale = { ...user, permissions: new Set(['posts.view', 'retired.permission']) } as unknown as Caller;
  const context = await signer.verify(await signer.sign({ from: 'gateway', caller: stale }));
  expect(context?.caller).toMatchObject({ permissions: new Set(['posts.view']) });
  expect([can(user, 'posts.view'), can(user, 'roles.manage'), can(GUEST, 'posts.view')]).toEqual([
    true,
    false,
    false,
  ]);
});
