import { createHmac, generateKeyPairSync, sign as signBytes } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { ALL_TOKEN_KINDS, type Caller, can, GUEST, type UserCaller } from '../kernel/caller.ts';
import { SECOND_MS } from '../kernel/clock.ts';
import { PROCESSES, type ProcessName } from '../kernel/process-name.ts';
import { ManualClock } from '../testing/manual-clock.ts';
import { CONTEXT_LIFETIME_S, createCallerSigner } from './caller-context.ts';
import type { ProcessKeys } from './process-keys.ts';

const user: UserCaller = {
  kind: 'user',
  userId: 7,
  permissions: new Set(['posts.view', 'payments.view_own']),
  tokenId: 'token-7',
  tokenKind: 'personal',
};

const newPairs = () =>
  new Map(PROCESSES.map((process) => [process, generateKeyPairSync('ed25519')] as const));
const pairs = newPairs();

const pairOf = (process: ProcessName, from = pairs) => {
  const pair = from.get(process);
  if (pair === undefined) throw new Error(`no keys of ${process}`);
  return pair;
};

/** Keys without files; a process's key has its name as id. `own`: the pairs that it signs with. */
const keysOf = (process: ProcessName, own = pairs): ProcessKeys => ({
  process,
  own: () => ({ id: `of ${process}`, key: pairOf(process, own).privateKey }),
  find: (id) => {
    const owner = PROCESSES.find((each) => id === `of ${each}`);
    return owner && { owner, key: pairOf(owner).publicKey };
  },
});

const setUp = () => {
  const clock = new ManualClock();
  const signerOf = (process: ProcessName, own = pairs) =>
    createCallerSigner({ keys: keysOf(process, own), clock });
  return { clock, signerOf, gateway: signerOf('gateway'), wallet: signerOf('wallet') };
};

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const decode = (part: string | undefined): Record<string, unknown> =>
  JSON.parse(Buffer.from(part ?? '', 'base64url').toString('utf8')) as Record<string, unknown>;

test.each([
  ['a user', user],
  ['a guest', GUEST],
  ['a user with withheld permissions', { ...user, withheld: new Set(['users.delete'] as const) }],
  ['an app with scopes that its user could give', { ...user, grantable: new Set(['posts.create'] as const) }],
  ...ALL_TOKEN_KINDS.map((tokenKind): [string, Caller] => [
    `a user with a token of kind ${tokenKind}`,
    { ...user, tokenKind },
  ]),
])('%s is verified unchanged, with the process that signed', (_who, caller) => {
  const { signerOf, wallet } = setUp();
  for (const from of PROCESSES)
    expect(wallet.verify(signerOf(from).sign('wallet', caller))).toEqual({ from, caller });
});

describe('reuse of a context', () => {
  test('a context is reused for the same caller and audience for three seconds', () => {
    const { clock, gateway } = setUp();
    for (const caller of [GUEST, user]) {
      const first = gateway.sign('wallet', caller);
      clock.advance(2 * SECOND_MS);
      expect(gateway.sign('wallet', { ...caller })).toBe(first);
      clock.advance(SECOND_MS);
      expect(gateway.sign('wallet', caller)).not.toBe(first);
    }
  });

  test('a context is not reused for another caller or audience', () => {
    const { gateway, signerOf } = setUp();
    const others: Caller[] = [
      GUEST,
      user,
      { ...user, userId: 8 },
      { ...user, tokenId: 'another' },
      { ...user, tokenKind: 'session' },
      { ...user, permissions: new Set(['posts.view']) },
      { ...user, withheld: new Set(['users.delete']) },
      { ...user, grantable: new Set(['posts.create']) },
    ];
    for (const caller of others) {
      for (const audience of ['wallet', 'gyms'] as const)
        expect(signerOf(audience).verify(gateway.sign(audience, caller))).toEqual({
          from: 'gateway',
          caller,
        });
    }
  });

  test('a context is not reused after the process has another key', () => {
    const { clock } = setUp();
    let id = 'first';
    const keys = { ...keysOf('gateway'), own: () => ({ id, key: pairOf('gateway').privateKey }) };
    const signer = createCallerSigner({ keys, clock });
    const before = signer.sign('wallet', user);
    id = 'second';
    expect(decode(signer.sign('wallet', user).split('.')[0])).toEqual({ alg: 'EdDSA', kid: 'second' });
    expect(decode(before.split('.')[0])).toEqual({ alg: 'EdDSA', kid: 'first' });
  });
});

describe('refused contexts', () => {
  test('a missing or malformed context is refused', () => {
    const { wallet } = setUp();
    for (const token of [undefined, '', 'x', 'a.b.c', '..', `${'a'.repeat(10_000)}.b.c`])
      expect(wallet.verify(token)).toBeUndefined();
  });

  test.each([GUEST, user])(
    'a context that is ten seconds old is refused, even if it was verified before (%j)',
    (caller) => {
      const { clock, gateway, wallet } = setUp();
      const token = gateway.sign('wallet', caller);
      clock.advance((CONTEXT_LIFETIME_S - 1) * SECOND_MS);
      expect(wallet.verify(token)).toEqual({ from: 'gateway', caller });
      clock.advance(SECOND_MS);
      expect(CONTEXT_LIFETIME_S).toBe(10);
      // The calling process was late: a 401 would sign the user out.
      expect(() => wallet.verify(token)).toThrow(expect.objectContaining({ kind: 'unavailable' }));
    },
  );

  test('a context for another process is refused', () => {
    const { gateway, signerOf } = setUp();
    const token = gateway.sign('wallet', user);
    for (const audience of PROCESSES)
      expect([audience, signerOf(audience).verify(token) === undefined]).toEqual([
        audience,
        audience !== 'wallet',
      ]);
  });

  test('a context signed with another key is refused, even if it has expired', () => {
    const { clock, wallet, signerOf } = setUp();
    const forged = signerOf('gateway', newPairs()).sign('wallet', user);
    expect(wallet.verify(forged)).toBeUndefined();
    clock.advance(11 * SECOND_MS);
    expect(wallet.verify(forged)).toBeUndefined();
  });

  /** Signs these claims with the key of `process`. */
  const signed = (claims: Record<string, unknown>, process: ProcessName = 'gateway'): string => {
    const now = new ManualClock().now().getTime() / SECOND_MS;
    const times = { iat: now, exp: now + CONTEXT_LIFETIME_S };
    const content = `${encode({ alg: 'EdDSA', kid: `of ${process}` })}.${encode({ ...times, ...claims })}`;
    const { privateKey } = pairOf(process);
    return `${content}.${signBytes(null, Buffer.from(content), privateKey).toString('base64url')}`;
  };
  const ofGateway = { iss: 'gateway', aud: 'wallet' };

  test('a context signed in the name of another process is refused', () => {
    const { wallet } = setUp();
    expect(wallet.verify(signed(ofGateway))).toEqual({ from: 'gateway', caller: GUEST });
    for (const process of PROCESSES.filter((each) => each !== 'gateway'))
      expect([process, wallet.verify(signed(ofGateway, process))]).toEqual([process, undefined]);
    const { iss: _iss, ...nameless } = ofGateway;
    expect(wallet.verify(signed(nameless))).toBeUndefined();
  });

  test('a context whose issuer gave it a longer life is refused', () => {
    const { clock, wallet } = setUp();
    const now = clock.now().getTime() / SECOND_MS;
    // The clocks of two machines may differ by five seconds.
    expect(wallet.verify(signed({ ...ofGateway, exp: now + 15 }))).toBeDefined();
    expect(wallet.verify(signed({ ...ofGateway, exp: now + 16 }))).toBeUndefined();
    expect(wallet.verify(signed({ ...ofGateway, exp: 9_999_999_999 }))).toBeUndefined();
    expect(wallet.verify(signed({ ...ofGateway, exp: undefined }))).toBeUndefined();
  });

  test('a context with any changed part is refused', () => {
    const { gateway, wallet } = setUp();
    const [header, payload, signature] = gateway.sign('wallet', user).split('.');
    const claims = decode(payload);
    const changes = [{ sub: '8' }, { permissions: ['roles.manage'] }, { iss: 'content' }, { aud: 'gyms' }];
    for (const change of changes) {
      const forged = `${header}.${encode({ ...claims, ...change })}.${signature}`;
      expect(wallet.verify(forged)).toBeUndefined();
    }
    expect(wallet.verify(`${header}.${payload}.${signature?.slice(0, -2)}`)).toBeUndefined();
    expect(wallet.verify(`${header}.${payload}.${signature}.${signature}`)).toBeUndefined();
    const other = encode({ alg: 'EdDSA', kid: 'of content' });
    expect(wallet.verify(`${other}.${payload}.${signature}`)).toBeUndefined();
  });

  test('a context with the algorithm `none` or another algorithm is refused', () => {
    const { gateway, wallet } = setUp();
    const [header, payload, signature] = gateway.sign('wallet', user).split('.');
    for (const alg of ['none', 'None', 'NONE', 'HS256', 'ES256']) {
      const changed = encode({ ...decode(header), alg });
      for (const end of ['', signature])
        expect(wallet.verify(`${changed}.${payload}.${end}`)).toBeUndefined();
    }
    // The public key is used as the key of an HMAC.
    const { publicKey } = pairOf('gateway');
    const content = `${encode({ ...decode(header), alg: 'HS256' })}.${payload}`;
    for (const secret of [
      publicKey.export({ type: 'spki', format: 'pem' }),
      publicKey.export({ format: 'jwk' }).x,
    ]) {
      const hmac = createHmac('sha256', secret ?? '')
        .update(content)
        .digest('base64url');
      expect(wallet.verify(`${content}.${hmac}`)).toBeUndefined();
    }
  });

  test('a context with an unknown key id is refused', () => {
    const { gateway, wallet } = setUp();
    const [header, payload, signature] = gateway.sign('wallet', user).split('.');
    const withId = (kid: unknown) => () =>
      wallet.verify(`${encode({ ...decode(header), kid })}.${payload}.${signature}`);
    for (const kid of [undefined, 7, null]) expect(withId(kid)()).toBeUndefined();
    // The key may not have arrived here yet: a 401 would sign the user out.
    for (const kid of ['', 'unknown', '__proto__'])
      expect(withId(kid)).toThrow(expect.objectContaining({ kind: 'unavailable' }));
  });

  test('a context with other claims is refused', () => {
    const { wallet } = setUp();
    expect(wallet.verify(signed({ ...ofGateway, sub: 'seven' }))).toBeUndefined();
    const complete = { ...ofGateway, sub: '7', permissions: [], token_id: 't', token_kind: 'restricted' };
    expect(wallet.verify(signed(complete))).toMatchObject({ caller: { tokenKind: 'restricted' } });
    expect(wallet.verify(signed({ ...complete, token_kind: 'root' }))).toBeUndefined();
    // A caller without token data must not be treated as a session.
    for (const missing of ['token_kind', 'permissions', 'token_id'])
      expect([missing, wallet.verify(signed({ ...complete, [missing]: undefined }))]).toEqual([
        missing,
        undefined,
      ]);
  });
});

test('an unknown permission is removed; a guest has none', () => {
  const { gateway, wallet } = setUp();
  const stale = { ...user, permissions: new Set(['posts.view', 'retired.permission']) } as unknown as Caller;
  const context = wallet.verify(gateway.sign('wallet', stale));
  expect(context?.caller).toMatchObject({ permissions: new Set(['posts.view']) });
  expect([can(user, 'posts.view'), can(user, 'roles.manage'), can(GUEST, 'posts.view')]).toEqual([
    true,
    false,
    false,
  ]);
});
