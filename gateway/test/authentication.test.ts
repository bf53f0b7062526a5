import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createMissingKeys, keyDirectories } from '@fitness/shared/process-identity/key-files.ts';
import { caller, strangerSigner, testSigner } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { allReceived, bearer, type Harness, MEMBER_TOKEN, rawRequest, startHarness } from './support.ts';

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
});
beforeEach(() => harness.reset());
afterAll(() => harness.close());

const PATHS = [
  '/api/v1/auth/me',
  '/api/v1/users',
  '/api/v1/payments/balance',
  '/api/v1/payments/prices',
  '/api/v1/payments/store-purchases',
  '/api/v1/gyms',
  '/api/v1/posts',
  '/api/v1/training-services',
  '/api/v1/media/1',
];

describe('a caller with a valid token', () => {
  test('a caller is forwarded in a signed context, with the permissions and the kind of the token', async () => {
    harness.tokens.set('fpp_personal', {
      ...caller(42, ['posts.view', 'gyms.update']),
      tokenKind: 'personal',
    });
    const answer = await fetch(`${harness.url}/api/v1/posts`, { headers: bearer('fpp_personal') });
    expect(answer.status).toBe(200);
    expect(harness.upstreams.content.received[0]?.caller).toEqual({
      kind: 'user',
      userId: 42,
      permissions: new Set(['posts.view', 'gyms.update']),
      tokenId: 'token-42',
      tokenKind: 'personal',
    });
  });

  test('a caller is forwarded with the permissions withheld until a second factor is set up', async () => {
    const withheld = new Set(['users.view_all', 'roles.manage'] as const);
    harness.tokens.set('staff', { ...caller(9, ['posts.view']), withheld });
    await fetch(`${harness.url}/api/v1/posts`, { headers: bearer('staff') });
    expect(harness.upstreams.content.received[0]?.caller).toMatchObject({ userId: 9, withheld });
  });

  test('a token is introspected at every request while Redis is unreachable', async () => {
    for (let time = 0; time < 3; time += 1) await fetch(`${harness.url}/api/v1/posts`, { headers: bearer() });
    expect(harness.introspections()).toBe(3);
  });

  test.each(['bearer', 'BEARER'])('the scheme may be written as %s', async (scheme) => {
    const headers = { authorization: `${scheme} ${MEMBER_TOKEN}` };
    expect((await fetch(`${harness.url}/api/v1/posts`, { headers })).status).toBe(200);
  });

  test('an unknown permission is not forwarded', async () => {
    harness.tokens.set('odd', caller(3, ['posts.view', 'planets.destroy' as 'posts.view']));
    await fetch(`${harness.url}/api/v1/posts`, { headers: bearer('odd') });
    expect(harness.upstreams.content.received[0]?.caller).toMatchObject({
      permissions: new Set(['posts.view']),
    });
  });
});

describe('a caller without credentials', () => {
  test.each(PATHS)('a caller without credentials is a guest at %s, without introspection', async (path) => {
    await fetch(`${harness.url}${path}`);
    expect(allReceived(harness).map((received) => received.caller)).toEqual([{ kind: 'guest' }]);
    expect(harness.introspections()).toBe(0);
  });
});

describe('an invalid token', () => {
  test.each(PATHS)(
    'an unknown token is rejected with 401 at %s, even where guests are allowed, and is not forwarded',
    async (path) => {
      const answer = await fetch(`${harness.url}${path}`, { headers: bearer('fps_unknown') });
      expect(answer.status).toBe(401);
      expect(answer.headers.get('www-authenticate')).toBe('Bearer');
      expect(await answer.json()).toEqual({ message: 'Sign in to continue.' });
      expect(allReceived(harness)).toEqual([]);
    },
  );

  test.each(PATHS)('a token of an app for another resource is rejected with 401 at %s', async (path) => {
    const forMcp = { ...caller(8), tokenKind: 'oauth', audience: 'https://api.example.com/mcp' } as const;
    harness.tokens.set('fpo_mcp', forMcp);
    const answer = await fetch(`${harness.url}${path}`, { headers: bearer('fpo_mcp') });
    expect([answer.status, await answer.json()]).toEqual([401, { message: 'Sign in to continue.' }]);
    expect(answer.headers.get('www-authenticate')).toBe(
      'Bearer error="invalid_token", error_description="The token is for another resource.", ' +
        'resource_metadata="https://api.example.com/.well-known/oauth-protected-resource/api/v1"',
    );
    expect(allReceived(harness)).toEqual([]);
    for (const audience of ['https://api.example.com', 'https://api.example.com/api/v1']) {
      harness.tokens.set('fpo_mcp', { ...forMcp, audience });
      expect((await fetch(`${harness.url}${path}`, { headers: bearer('fpo_mcp') })).status).toBe(200);
    }
  });

  test('a token is refused from the moment of its revocation', async () => {
    expect((await fetch(`${harness.url}/api/v1/posts`, { headers: bearer() })).status).toBe(200);
    harness.tokens.delete(MEMBER_TOKEN);
    expect((await fetch(`${harness.url}/api/v1/posts`, { headers: bearer() })).status).toBe(401);
  });

  test('concurrent requests with a revoked token are all refused', async () => {
    const ask = async (): Promise<number> =>
      (await fetch(`${harness.url}/api/v1/posts`, { headers: bearer() })).status;
    const before = await Promise.all(Array.from({ length: 20 }, ask));
    harness.tokens.delete(MEMBER_TOKEN);
    const after = await Promise.all(Array.from({ length: 20 }, ask));
    expect(new Set(before)).toEqual(new Set([200]));
    expect(new Set(after)).toEqual(new Set([401]));
  });

  test('the error text is in the language of Accept-Language', async () => {
    const headers = { ...bearer('unknown'), 'accept-language': 'fa;q=0.9, en;q=0.5' };
    const answer = await fetch(`${harness.url}/api/v1/posts`, { headers });
    expect(answer.headers.get('content-language')).toBe('fa');
    expect(((await answer.json()) as { message: string }).message).toMatch(/\p{Script=Arabic}/u);
  });

  test.each([
    ['', 'nothing'],
    ['Bearer', 'no token'],
    ['Bearer ', 'an empty token'],
    [`Basic ${MEMBER_TOKEN}`, 'another scheme'],
    [MEMBER_TOKEN, 'no scheme'],
    [`Bearer ${MEMBER_TOKEN} ${MEMBER_TOKEN}`, 'two tokens'],
    [`Bearer ${MEMBER_TOKEN},${MEMBER_TOKEN}`, 'a list'],
    ['Bearer \u00e9', 'an invalid character'],
  ])('Authorization: %j (%s) is rejected with 401, and not treated as a guest', async (authorization) => {
    const answer = await rawRequest(harness.url, '/api/v1/posts', { headers: { authorization } });
    expect(answer.status).toBe(401);
    expect(harness.introspections()).toBe(0);
    expect(allReceived(harness)).toEqual([]);
  });

  test('two Authorization headers are rejected with 401, even with valid tokens', async () => {
    const authorization = [`Bearer ${MEMBER_TOKEN}`, `Bearer ${MEMBER_TOKEN}`];
    const answer = await rawRequest(harness.url, '/api/v1/posts', { headers: { authorization } });
    expect(answer.status).toBe(401);
  });
});

describe('a 401 from a service', () => {
  test('a 401 from a service gets a WWW-Authenticate challenge', async () => {
    harness.upstreams.identity.handler = (_request, response) => response.writeHead(401).end();
    const answer = await fetch(`${harness.url}/api/v1/auth/me`);
    expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
  });
});

describe('a forged caller', () => {
  test('a caller context from outside is never forwarded, even with a valid signature', async () => {
    const stolen = testSigner('gateway').sign('content', caller(1, ['users.delete']));
    await fetch(`${harness.url}/api/v1/posts`, { headers: { 'x-caller-context': stolen } });
    expect(harness.upstreams.content.received[0]?.caller).toEqual({ kind: 'guest' });
  });

  test('a caller context with another signature is invalid', async () => {
    const forged = strangerSigner('gateway').sign('content', caller(1));
    expect(testSigner('content').verify(forged)).toBeUndefined();
  });
});

describe('an outage of identity', () => {
  test('an outage fails requests with a token with 503 and Retry-After, and guests are still served', async () => {
    const alone = await startHarness();
    try {
      await alone.stopIdentityGrpc();
      const answer = await fetch(`${alone.url}/api/v1/posts`, { headers: bearer() });
      expect(answer.status).toBe(503);
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(await answer.json()).toEqual({ message: expect.any(String) });
      expect(allReceived(alone)).toEqual([]);
      expect((await fetch(`${alone.url}/api/v1/posts`)).status).toBe(200);
    } finally {
      await alone.close();
    }
  });

  test('a request with a token fails with 503, not 401, if identity refuses the gateway itself', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'keys-'));
    createMissingKeys(directory);
    const stranger = await startHarness(keyDirectories(directory, 'gateway'));
    try {
      expect((await fetch(`${stranger.url}/api/v1/posts`, { headers: bearer() })).status).toBe(503);
    } finally {
      await stranger.close();
      await rm(directory, { recursive: true });
    }
  });
});
