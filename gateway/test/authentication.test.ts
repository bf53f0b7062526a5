import { createCallerSigner } from '@fitness/shared/caller.ts';
import { systemClock } from '@fitness/shared/clock.ts';
import { caller, TEST_SECRET, testSigner } from '@fitness/shared/testing/harness.ts';
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
  test('is signed for the service, with the permissions and the kind of the token', async () => {
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

  test('is asked about at every request', async () => {
    for (let time = 0; time < 3; time += 1) await fetch(`${harness.url}/api/v1/posts`, { headers: bearer() });
    expect(harness.introspections()).toBe(3);
  });

  test.each(['bearer', 'BEARER'])('may write the scheme as %s', async (scheme) => {
    const headers = { authorization: `${scheme} ${MEMBER_TOKEN}` };
    expect((await fetch(`${harness.url}/api/v1/posts`, { headers })).status).toBe(200);
  });

  test('a permission that does not exist here is not signed', async () => {
    harness.tokens.set('odd', caller(3, ['posts.view', 'planets.destroy' as 'posts.view']));
    await fetch(`${harness.url}/api/v1/posts`, { headers: bearer('odd') });
    expect(harness.upstreams.content.received[0]?.caller).toMatchObject({
      permissions: new Set(['posts.view']),
    });
  });
});

describe('a caller without credentials', () => {
  test.each(PATHS)('is a guest at %s, and identity is not asked', async (path) => {
    await fetch(`${harness.url}${path}`);
    expect(allReceived(harness).map((received) => received.caller)).toEqual([{ kind: 'guest' }]);
    expect(harness.introspections()).toBe(0);
  });
});

describe('a bad token', () => {
  test.each(PATHS)('is 401 at %s, also where a guest is let in, and no service hears of it', async (path) => {
    const answer = await fetch(`${harness.url}${path}`, { headers: bearer('fps_unknown') });
    expect(answer.status).toBe(401);
    expect(answer.headers.get('www-authenticate')).toBe('Bearer');
    expect(await answer.json()).toEqual({ message: 'Unauthenticated.' });
    expect(allReceived(harness)).toEqual([]);
  });

  test('is refused from the moment of its revocation', async () => {
    expect((await fetch(`${harness.url}/api/v1/posts`, { headers: bearer() })).status).toBe(200);
    harness.tokens.delete(MEMBER_TOKEN);
    expect((await fetch(`${harness.url}/api/v1/posts`, { headers: bearer() })).status).toBe(401);
  });

  test('lets nobody in under load once it is revoked', async () => {
    const ask = async (): Promise<number> =>
      (await fetch(`${harness.url}/api/v1/posts`, { headers: bearer() })).status;
    const before = await Promise.all(Array.from({ length: 20 }, ask));
    harness.tokens.delete(MEMBER_TOKEN);
    const after = await Promise.all(Array.from({ length: 20 }, ask));
    expect(new Set(before)).toEqual(new Set([200]));
    expect(new Set(after)).toEqual(new Set([401]));
  });

  test('is told about in the language of the reader', async () => {
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
    ['Bearer \u00e9', 'a letter that no token has'],
  ])('Authorization: %j (%s) is 401 and not a guest', async (authorization) => {
    const answer = await rawRequest(harness.url, '/api/v1/posts', { headers: { authorization } });
    expect(answer.status).toBe(401);
    expect(harness.introspections()).toBe(0);
    expect(allReceived(harness)).toEqual([]);
  });

  test('two Authorization headers are 401, whatever they say', async () => {
    const authorization = [`Bearer ${MEMBER_TOKEN}`, `Bearer ${MEMBER_TOKEN}`];
    const answer = await rawRequest(harness.url, '/api/v1/posts', { headers: { authorization } });
    expect(answer.status).toBe(401);
  });
});

describe('a 401 of a service', () => {
  test('names the scheme too', async () => {
    harness.upstreams.identity.handler = (_request, response) => response.writeHead(401).end();
    const answer = await fetch(`${harness.url}/api/v1/auth/me`);
    expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
  });
});

describe('a forged caller', () => {
  test('a context from outside never reaches a service, not even one that we have signed', async () => {
    const stolen = await testSigner.sign({ from: 'gateway', caller: caller(1, ['users.delete']) });
    await fetch(`${harness.url}/api/v1/posts`, { headers: { 'x-caller-context': stolen } });
    expect(harness.upstreams.content.received[0]?.caller).toEqual({ kind: 'guest' });
  });

  test('a service can tell our signature from another', async () => {
    const forger = createCallerSigner(`${TEST_SECRET} of somebody else`, systemClock);
    const forged = await forger.sign({ from: 'gateway', caller: caller(1) });
    expect(await testSigner.verify(forged)).toBeUndefined();
  });
});

describe('identity cannot be asked', () => {
  test('a token is 503 with Retry-After, never a guest; guests go on', async () => {
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

  test('identity refusing the gateway itself is 503 and not everybody’s 401', async () => {
    const stranger = await startHarness({ INTERNAL_AUTH_SECRET: `${TEST_SECRET}, but another one` });
    try {
      expect((await fetch(`${stranger.url}/api/v1/posts`, { headers: bearer() })).status).toBe(503);
    } finally {
      await stranger.close();
    }
  });
});
