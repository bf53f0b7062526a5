import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { allReceived, bearer, type Harness, startHarness } from './support.ts';

const PAGE = 'https://app.example.com';
const OTHER = 'https://evil.example.com';

let none: Harness;
let some: Harness;
let any: Harness;
beforeAll(async () => {
  none = await startHarness();
  some = await startHarness({ CORS_ORIGINS: `${PAGE},https://admin.example.com` });
  any = await startHarness({ SEED_DEMO: '1' });
});
beforeEach(() => {
  for (const harness of [none, some, any]) harness.reset();
});
afterAll(() => Promise.all([none, some, any].map((harness) => harness.close())));

const preflight = ({ url }: Harness, path: string, origin = PAGE): Promise<Response> =>
  fetch(`${url}${path}`, {
    method: 'OPTIONS',
    headers: {
      origin,
      'access-control-request-method': 'PUT',
      'access-control-request-headers': 'authorization,content-type,idempotency-key',
    },
  });

const corsHeaders = ({ headers }: Response): string[] =>
  [...headers.keys()].filter((name) => name.startsWith('access-control-')).sort();

describe('a preflight', () => {
  test.each([
    '/api/v1/auth/me',
    '/api/v1/openapi.json',
    '/api/v1/unknown',
    '/oauth/register',
    '/oauth/token',
    '/oauth/revoke',
    '/mcp',
    '/unknown',
  ])('the gateway allows a preflight from an allowed origin to %s', async (path) => {
    const answer = await preflight(some, path);
    expect([answer.status, await answer.text()]).toEqual([204, '']);
    expect(answer.headers.get('access-control-allow-origin')).toBe(PAGE);
    expect(answer.headers.get('vary')).toBe('Origin');
    expect(answer.headers.get('access-control-allow-methods')?.split(', ')).toEqual(
      expect.arrayContaining(['GET', 'POST', 'PUT', 'DELETE']),
    );
    expect(answer.headers.get('access-control-allow-headers')?.toLowerCase().split(', ')).toEqual(
      expect.arrayContaining(['authorization', 'content-type', 'idempotency-key', 'mcp-protocol-version']),
    );
    expect(answer.headers.get('access-control-allow-credentials')).toBeNull();
    expect(allReceived(some)).toEqual([]);
    expect(some.introspections()).toBe(0);
  });

  test.each([
    '/.well-known/oauth-authorization-server',
    '/.well-known/oauth-protected-resource/mcp',
    '/.well-known/openid-configuration',
  ])('a preflight from any origin to the public path %s is allowed', async (path) => {
    for (const harness of [none, some, any]) {
      const answer = await preflight(harness, path, OTHER);
      expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([204, '*']);
      expect(answer.headers.get('access-control-allow-headers')).toContain('Mcp-Protocol-Version');
      expect(answer.headers.get('vary')).toBeNull();
    }
  });

  test('the gateway responds to a preflight from another origin, and allows nothing', async () => {
    for (const [harness, origin] of [
      [some, OTHER],
      [some, 'null'],
      [none, PAGE],
    ] as const) {
      for (const path of ['/api/v1/auth/me', '/oauth/register', '/mcp']) {
        const answer = await preflight(harness, path, origin);
        expect([answer.status, await answer.text(), corsHeaders(answer)]).toEqual([204, '', []]);
      }
      expect(allReceived(harness)).toEqual([]);
    }
  });

  test('a preflight from any origin is allowed with the demo data', async () => {
    const answer = await preflight(any, '/api/v1/auth/me', OTHER);
    expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([204, '*']);
    expect(answer.headers.get('access-control-allow-credentials')).toBeNull();
  });

  test('an OPTIONS request that is not a preflight is forwarded', async () => {
    await fetch(`${some.url}/api/v1/posts`, { method: 'OPTIONS', headers: { origin: PAGE } });
    expect(some.upstreams.content.received).toHaveLength(1);
  });
});

describe('a response', () => {
  test.each([
    ['/api/v1/posts', 200],
    ['/api/v1/unknown', 404],
    ['/unknown', 404],
    ['/health/live', 200],
  ])('the response to %s (%i) can be read only by pages of allowed origins', async (path, status) => {
    const read = (harness: Harness, origin: string) =>
      fetch(`${harness.url}${path}`, { headers: { origin } });
    const allowed = await read(some, PAGE);
    expect([allowed.status, allowed.headers.get('access-control-allow-origin')]).toEqual([status, PAGE]);
    expect(allowed.headers.get('access-control-expose-headers')).toContain('X-Request-Id');
    expect(allowed.headers.get('access-control-allow-credentials')).toBeNull();
    const refused = await read(some, OTHER);
    expect([refused.status, corsHeaders(refused)]).toEqual([status, []]);
    expect(refused.headers.get('vary')?.split(', ')).toContain('Origin');
    expect(corsHeaders(await read(none, PAGE))).toEqual([]);
  });

  test('a 401 can be read by a page of an allowed origin', async () => {
    const headers = { ...bearer('unknown'), origin: PAGE };
    const answer = await fetch(`${some.url}/api/v1/auth/me`, { headers });
    expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([401, PAGE]);
  });

  test('a service cannot allow an origin', async () => {
    some.upstreams.content.handler = (_request, response) =>
      response
        .writeHead(200, { 'access-control-allow-origin': '*', 'access-control-allow-credentials': 'true' })
        .end('{}');
    const answer = await fetch(`${some.url}/api/v1/posts`, { headers: { origin: OTHER } });
    expect([answer.status, corsHeaders(answer)]).toEqual([200, []]);
  });

  test.each([
    '/oauth/authorize',
    '/oauth/%61uthorize/abc',
    '/%6Fauth/interaction/abc',
    '/account-deletion',
    '/ops/users',
  ])('the page %s cannot be read by pages of other origins', async (path) => {
    for (const harness of [some, any]) {
      const answer = await fetch(`${harness.url}${path}?client_id=x`, { headers: { origin: PAGE } });
      expect([answer.status, corsHeaders(answer)]).toEqual([200, []]);
      expect(corsHeaders(await preflight(harness, path))).toEqual([]);
    }
  });

  test('Vary has Origin in addition to the values of the service', async () => {
    some.upstreams.content.handler = (_request, response) =>
      response.writeHead(200, { vary: 'Accept-Language' }).end();
    const answer = await fetch(`${some.url}/api/v1/posts`);
    expect(answer.headers.get('vary')).toBe('Accept-Language, Origin');
  });

  test('a page can read the response headers that a client needs', async () => {
    const answer = await fetch(`${some.url}/api/v1/posts`, { headers: { origin: PAGE } });
    expect(answer.headers.get('access-control-expose-headers')?.split(', ')).toEqual(
      expect.arrayContaining([
        'ETag',
        'Mcp-Session-Id',
        'Retry-After',
        'WWW-Authenticate',
        'X-RateLimit-Limit',
      ]),
    );
  });

  test('a response of /mcp can be read only by pages of allowed origins, and others are refused', async () => {
    const post = (harness: Harness, origin: string, token = bearer()) =>
      fetch(`${harness.url}/mcp`, {
        method: 'POST',
        headers: {
          ...token,
          origin,
          accept: 'application/json, text/event-stream',
          'content-type': 'application/json',
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
      });
    const allowed = await post(some, PAGE);
    expect([allowed.status, allowed.headers.get('access-control-allow-origin')]).toEqual([200, PAGE]);
    expect((await post(any, OTHER)).status).toBe(200);
    const challenged = await post(some, PAGE, bearer('unknown'));
    expect([challenged.status, challenged.headers.get('access-control-allow-origin')]).toEqual([401, PAGE]);
    for (const [harness, origin] of [
      [some, OTHER],
      [none, PAGE],
    ] as const) {
      const refused = await post(harness, origin);
      expect([refused.status, corsHeaders(refused)]).toEqual([403, []]);
    }
  });
});
