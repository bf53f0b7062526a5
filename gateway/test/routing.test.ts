import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { allReceived, allStrays, bearer, type Harness, rawRequest, startHarness } from './support.ts';

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
});
beforeEach(() => harness.reset());
afterAll(() => harness.close());

describe('forwarding', () => {
  test.each(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])(
    '%s is forwarded with its path, query and body',
    async (method) => {
      const hasBody = !['GET', 'OPTIONS'].includes(method);
      const answer = await fetch(`${harness.url}/api/v1/gyms/5?search=a%20b&page=2`, {
        method,
        headers: hasBody ? { 'content-type': 'application/json' } : {},
        ...(hasBody ? { body: '{"name": "چلسی"}' } : {}),
      });
      expect([answer.status, await answer.json()]).toEqual([200, { service: 'gyms' }]);
      const [received] = harness.upstreams.gyms.received;
      expect(received).toMatchObject({ method, url: '/api/v1/gyms/5?search=a%20b&page=2' });
      expect(received?.body.toString()).toBe(hasBody ? '{"name": "چلسی"}' : '');
    },
  );

  test('HEAD returns the headers of the service without a body', async () => {
    harness.upstreams.media.handler = (_request, response) =>
      response.writeHead(200, { 'content-length': '1234', etag: '"1"' }).end();
    const answer = await rawRequest(harness.url, '/api/v1/media/1', { method: 'HEAD' });
    expect([answer.status, answer.headers['content-length'], answer.headers.etag, answer.text]).toEqual([
      200,
      '1234',
      '"1"',
      '',
    ]);
    expect(harness.upstreams.media.received[0]?.method).toBe('HEAD');
  });

  test.each([
    [405, { allow: 'GET, POST' }, '{"message":"no"}'],
    [302, { location: '/elsewhere' }, ''],
    [409, { 'content-type': 'application/json' }, '{"code":"account_deletion_blocked"}'],
    [500, {}, '{"error":"x","code":"payments.provider_error"}'],
    [304, { etag: '"1"' }, ''],
    [204, {}, ''],
    [206, { 'content-range': 'bytes 0-1/2' }, 'ab'],
  ])('a %i from a service is returned unchanged', async (status, headers, body) => {
    harness.upstreams.wallet.handler = (_request, response) =>
      response.writeHead(status, headers as Record<string, string>).end(body);
    const answer = await rawRequest(harness.url, '/api/v1/payments/1');
    expect([answer.status, answer.text]).toEqual([status, body]);
    expect(answer.headers).toMatchObject(headers);
  });

  test('a 503 from a service is not retried', async () => {
    harness.upstreams.wallet.handler = (_request, response) =>
      response
        .writeHead(503, { 'retry-after': '9', 'content-type': 'application/json' })
        .end('{"message":"mine"}');
    const answer = await rawRequest(harness.url, '/api/v1/payments');
    expect([answer.status, answer.headers['retry-after'], answer.text]).toEqual([
      503,
      '9',
      '{"message":"mine"}',
    ]);
    expect(harness.upstreams.wallet.received).toHaveLength(1);
  });

  test('malformed JSON is forwarded', async () => {
    await fetch(`${harness.url}/api/v1/posts`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{nonsense',
    });
    expect(harness.upstreams.content.received[0]?.body.toString()).toBe('{nonsense');
  });

  test('a body without a type is forwarded', async () => {
    await rawRequest(harness.url, '/api/v1/posts', {
      method: 'POST',
      headers: { 'content-length': '3' },
      body: Buffer.from('abc'),
    });
    expect(harness.upstreams.content.received[0]?.body.toString()).toBe('abc');
  });

  test('an empty body with a type is forwarded empty', async () => {
    const answer = await rawRequest(harness.url, '/api/v1/auth/logout', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'content-length': '0' },
    });
    expect(answer.status).toBe(200);
    expect(harness.upstreams.identity.received[0]?.body).toHaveLength(0);
  });
});

describe('paths that are not routed', () => {
  test.each([
    '/',
    '/api',
    '/api/v1',
    '/api/v1/',
    '/api/v1/nothing',
    '/api/v2/posts',
    '/internal/openapi.json',
    '/api/v1/internal/openapi.json',
    '/api/v1/../internal/openapi.json',
    '/api/v1/%2e%2e/internal/openapi.json',
    '/api/v1/posts/../../../internal/openapi.json',
    '/api/v1/posts/%2e%2e/%2e%2e/%2e%2e/internal/openapi.json',
    '/api/v1/posts/..%2f..%2f..%2finternal%2fopenapi.json',
    '/api/v1/posts/..%5c..%5c..%5cmetrics',
    '/api/v1/posts//../../../metrics',
    '//internal/openapi.json',
    '/api/v1//internal',
    '/%61pi/v1/%2e%2e/metrics',
    '/api/v1/posts%2f..%2f..%2f..%2fmetrics',
    'http://127.0.0.1/internal/openapi.json',
    'http://internal/api/v1/../../metrics',
  ])('%s returns 404 and a message, with or without a token, and is not forwarded', async (path) => {
    for (const headers of [{}, bearer()]) {
      const answer = await rawRequest(harness.url, path, { headers });
      expect(answer.status).toBe(404);
      expect(JSON.parse(answer.text)).toEqual({ message: 'We could not find what you are looking for.' });
    }
    expect([...allReceived(harness), ...allStrays(harness)]).toEqual([]);
  });

  test.each(['/api/v1/%', '/api/v1/posts/%zz', '/%c0%ae'])(
    '%s, which cannot be decoded, is refused',
    async (path) => {
      const answer = await rawRequest(harness.url, path);
      expect([400, 404]).toContain(answer.status);
      expect(Object.keys(JSON.parse(answer.text))).toEqual(['message']);
      expect([...allReceived(harness), ...allStrays(harness)]).toEqual([]);
    },
  );

  test.each(['PROPFIND', 'TRACE', 'LOCK'])('the method %s is refused', async (method) => {
    const answer = await rawRequest(harness.url, '/api/v1/posts', { method });
    expect(answer.status).toBe(405);
    expect(allReceived(harness)).toEqual([]);
  });

  test('health and metrics of the services are not reachable through the gateway', async () => {
    for (const path of ['/metrics', '/health/services']) {
      const answer = await fetch(`${harness.url}${path}`);
      expect([path, answer.status, await answer.json()]).toEqual([
        path,
        404,
        { message: 'We could not find what you are looking for.' },
      ]);
    }
    expect(allStrays(harness)).toEqual([]);
  });
});
