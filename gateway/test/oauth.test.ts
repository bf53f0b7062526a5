/** OAuth at the gateway, which answers requests for metadata and forwards all others to identity. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { allReceived, allStrays, bearer, type Harness, rawRequest, startHarness } from './support.ts';

let gateway: Harness;
beforeAll(async () => {
  gateway = await startHarness();
});
afterAll(() => gateway.close());
beforeEach(() => gateway.reset());

const BASE = 'https://api.example.com';

describe('the metadata', () => {
  test('the authorization server metadata names the endpoints at the public origin (RFC 8414)', async () => {
    const response = await fetch(`${gateway.url}/.well-known/oauth-authorization-server`);
    expect(response.status).toBe(200);
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
    expect(await response.json()).toMatchObject({
      issuer: BASE,
      authorization_endpoint: `${BASE}/oauth/authorize`,
      token_endpoint: `${BASE}/oauth/token`,
      registration_endpoint: `${BASE}/oauth/register`,
      revocation_endpoint: `${BASE}/oauth/revoke`,
      response_types_supported: ['code'],
      grant_types_supported: ['authorization_code', 'refresh_token'],
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['none'],
      authorization_response_iss_parameter_supported: true,
      protected_resources: [BASE, `${BASE}/mcp`, `${BASE}/api/v1`],
    });
  });

  test('the metadata contains no scope that allows taking over accounts', async () => {
    const response = await fetch(`${gateway.url}/.well-known/oauth-authorization-server`);
    const { scopes_supported: scopes } = (await response.json()) as { scopes_supported: string[] };
    expect(scopes).toEqual(expect.arrayContaining(['posts.view', 'payments.view_own', 'users.view_all']));
    for (const scope of ['users.update_any', 'users.delete', 'roles.manage'])
      expect(scopes).not.toContain(scope);
  });

  test.each(['', '/mcp', '/api/v1'])(
    'the metadata of the resource at %j names the authorization server (RFC 9728)',
    async (path) => {
      const response = await fetch(`${gateway.url}/.well-known/oauth-protected-resource${path}`);
      expect(response.status).toBe(200);
      expect(await response.json()).toMatchObject({
        resource: `${BASE}${path}`,
        authorization_servers: [BASE],
        bearer_methods_supported: ['header'],
      });
    },
  );

  test('the metadata does not depend on the Host header, and OpenID Connect has none', async () => {
    const headers = { host: 'EVIL.example', 'x-forwarded-host': 'evil.example' };
    const { text } = await rawRequest(gateway.url, '/.well-known/oauth-authorization-server', { headers });
    expect(text).not.toMatch(/evil/i);
    expect((await fetch(`${gateway.url}/.well-known/openid-configuration`)).status).toBe(404);
  });
});

describe('paths below /oauth', () => {
  test('requests below /oauth are forwarded to identity as a guest’s, with the headers and cookies for its pages', async () => {
    const answer = await rawRequest(gateway.url, '/oauth/interaction/abc', {
      method: 'POST',
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        cookie:
          '__Host-ops=user.fps_x; __Secure-fitness_oauth_interaction=abc;fitness_oauth_resume.sig=b=c; x=fitness_oauth_session=d',
        origin: 'null',
        'sec-fetch-site': 'same-origin',
        'x-client-address': '6.6.6.6',
        'x-caller-context': 'forged',
        'x-forwarded-host': 'evil.example',
        ...bearer(),
      },
      body: Buffer.from('action=allow&csrf=x'),
    });
    expect(answer.status).toBe(200);
    const [received] = gateway.upstreams.identity.received;
    expect(received).toMatchObject({
      method: 'POST',
      url: '/oauth/interaction/abc',
      caller: { kind: 'guest' },
    });
    expect(received?.body.toString()).toBe('action=allow&csrf=x');
    expect(received?.headers).toMatchObject({
      cookie: '__Secure-fitness_oauth_interaction=abc; fitness_oauth_resume.sig=b=c',
      origin: 'null',
      'sec-fetch-site': 'same-origin',
      'x-client-address': '127.0.0.1',
    });
    expect(received?.headers.authorization).toBeUndefined();
    expect(received?.headers['x-forwarded-host']).toBeUndefined();
    expect(gateway.introspections()).toBe(0);
  });

  test('cookies, redirects and the content security policy of identity’s pages are returned', async () => {
    gateway.upstreams.identity.handler = (_request, response) => {
      response
        .writeHead(303, {
          location: '/oauth/interaction/abc',
          'set-cookie': ['a=1; httponly', 'b=2; httponly'],
          'content-security-policy': "default-src 'none'",
          'x-frame-options': 'DENY',
        })
        .end();
    };
    const { status, headers } = await rawRequest(gateway.url, '/oauth/authorize?client_id=x&scope=a%20b');
    expect(status).toBe(303);
    expect(headers).toMatchObject({
      location: '/oauth/interaction/abc',
      'set-cookie': ['a=1; httponly', 'b=2; httponly'],
      'content-security-policy': "default-src 'none'",
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
    });
    expect(gateway.upstreams.identity.received[0]?.url).toBe('/oauth/authorize?client_id=x&scope=a%20b');
  });

  test('a GET below /oauth is not retried, because it may have an effect', async () => {
    let requests = 0;
    gateway.upstreams.identity.handler = (request) => {
      requests += 1;
      request.socket.destroy();
    };
    expect((await rawRequest(gateway.url, '/oauth/authorize/abc')).status).toBe(503);
    expect(requests).toBe(1);
  });

  test('cookies and origins are not forwarded to the API', async () => {
    const headers = { cookie: 'a=1', origin: 'https://evil.example', ...bearer() };
    await rawRequest(gateway.url, '/api/v1/auth/me', { headers });
    expect(gateway.upstreams.identity.received[0]?.headers).not.toHaveProperty('cookie');
    expect(gateway.upstreams.identity.received[0]?.headers).not.toHaveProperty('origin');
  });

  test.each([
    '/oauth',
    '/oauth/../internal/openapi.json',
    '/oauth/%2e%2e/metrics',
    '/oauth//metrics',
    '/oauthx/token',
    '/OAuth/token',
    '/.well-known/../metrics',
    '/.well-known/oauth-protected-resource/mcp/x',
  ])('%s returns 404', async (path) => {
    const { status } = await rawRequest(gateway.url, path);
    expect(status).toBe(404);
    expect(allStrays(gateway)).toEqual([]);
    expect(allReceived(gateway)).toEqual([]);
  });
});
