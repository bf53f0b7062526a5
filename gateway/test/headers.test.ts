import { CATALOGUES } from '@fitness/shared/kernel/i18n/catalogue.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { allReceived, bearer, type Harness, type Received, rawRequest, startHarness } from './support.ts';

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
});
beforeEach(() => harness.reset());
afterAll(() => harness.close());

const send = async (
  headers: Record<string, string | string[]>,
  method = 'GET',
  body?: Buffer,
): Promise<Received> => {
  await rawRequest(harness.url, '/api/v1/posts', {
    method,
    headers,
    ...(body === undefined ? {} : { body }),
  });
  const [received] = harness.upstreams.content.received;
  if (received === undefined) throw new Error('nothing was forwarded');
  return received;
};

describe('request headers', () => {
  test('only listed headers are forwarded', async () => {
    const { headers } = await send(
      {
        ...bearer(),
        accept: 'application/json',
        'accept-language': 'fa',
        'content-type': 'application/json',
        'content-length': '2',
        'idempotency-key': 'abc',
        'if-none-match': '"1"',
        range: 'bytes=0-9',
        'user-agent': 'app/1',
        cookie: 'session=1',
        'x-anything': 'else',
      },
      'POST',
      Buffer.from('{}'),
    );
    expect(Object.keys(headers).sort()).toEqual([
      'accept',
      'accept-language',
      'connection',
      'content-length',
      'content-type',
      'host',
      'idempotency-key',
      'if-none-match',
      'range',
      'traceparent',
      'user-agent',
      'x-caller-context',
      'x-client-address',
      'x-request-id',
      'x-request-timeout',
    ]);
    expect(headers).toMatchObject({ 'accept-language': 'fa', 'idempotency-key': 'abc', range: 'bytes=0-9' });
  });

  test.each([
    'authorization',
    'cookie',
    'forwarded',
    'x-forwarded-for',
    'x-forwarded-host',
    'x-forwarded-proto',
    'x-internal-user',
    'x-real-ip',
    'x-user-id',
    'proxy-authorization',
    'te',
    'upgrade-insecure-requests',
  ])('the request header %s is not forwarded', async (name) => {
    const { headers } = await send({
      ...bearer(),
      [name]: name === 'authorization' ? (bearer().authorization ?? '') : 'x',
    });
    expect(headers[name]).toBeUndefined();
  });

  test('Connection cannot remove the internal headers', async () => {
    const { headers } = await send({ connection: 'close, x-caller-context, x-client-address, traceparent' });
    expect(headers).toMatchObject({
      'x-caller-context': expect.any(String),
      'x-client-address': '127.0.0.1',
    });
  });

  test('the client address is the address of the socket, regardless of the headers', async () => {
    const { headers } = await send({ 'x-client-address': '6.6.6.6', 'x-forwarded-for': '6.6.6.6' });
    expect(headers['x-client-address']).toBe('127.0.0.1');
  });

  test('the time limit of the service is shorter than the gateway’s, regardless of the client’s headers', async () => {
    const { headers } = await send({ 'x-request-timeout': '999999' });
    expect(headers['x-request-timeout']).toBe('24000');
  });

  test('the headers of a GET body are not forwarded', async () => {
    const { headers } = await send(
      { 'content-length': '2', 'content-type': 'text/plain' },
      'GET',
      Buffer.from('hi'),
    );
    expect([headers['content-length'], headers['content-type']]).toEqual([undefined, undefined]);
  });

  test.each([
    'a',
    'a:80',
    '[::1]',
    '[::1]:8080',
    '[2001:db8::1]:1',
    '%41',
    "!$&'()*+,;=",
    'a_b',
    'A.example',
  ])('a request with the host %s is forwarded', async (host) => {
    expect((await send({ host })).headers.host).toBe(host);
  });

  test.each([
    ['an unclosed bracket', { host: '[::1' }],
    ['brackets without an address', { host: '[a]' }],
    ['a user', { host: 'user@a' }],
  ])(
    'a request whose host has %s is rejected with 400 on both ports, and reaches no service',
    async (_what, headers) => {
      for (const [origin, path] of [
        [harness.url, '/api/v1/auth/login'],
        [harness.url, '/health/live'],
        [harness.operationsUrl, '/health/services'],
      ] as const) {
        const answer = await rawRequest(origin, path, { method: 'POST', headers, body: Buffer.from('{}') });
        expect([answer.status, JSON.parse(answer.text)]).toEqual([
          400,
          { message: 'The request must have exactly one valid Host header.' },
        ]);
      }
      expect(allReceived(harness)).toEqual([]);
    },
  );

  test('Content-Encoding is forwarded, so that the service checks it after the permission', async () => {
    const { headers } = await send(
      { 'content-type': 'application/json', 'content-encoding': 'gzip' },
      'POST',
      Buffer.from('{}'),
    );
    expect(headers['content-encoding']).toBe('gzip');
  });

  test.each([
    ['/mcp', 'application/json', {}],
    ['/account-deletion', 'application/x-www-form-urlencoded', { cookie: '__Host-account_deletion=guest.x' }],
  ])('a body for %s with a Content-Encoding is rejected with 415', async (path, type, more) => {
    const answer = await rawRequest(harness.url, path, {
      method: 'POST',
      headers: { ...bearer(), 'content-type': type, 'content-encoding': 'gzip', ...more },
      body: Buffer.from('{}'),
    });
    expect([answer.status, answer.headers['accept-encoding']]).toEqual([415, 'identity']);
  });

  test('Expect: 100-continue is not forwarded', async () => {
    const { headers } = await send(
      { expect: '100-continue', 'content-type': 'application/json' },
      'POST',
      Buffer.from('{}'),
    );
    expect(headers.expect).toBeUndefined();
  });
});

describe('request ids and traces', () => {
  test('a well-formed X-Request-Id is forwarded and returned', async () => {
    const answer = await fetch(`${harness.url}/api/v1/posts`, {
      headers: { 'x-request-id': 'order-17:retry.2' },
    });
    expect(answer.headers.get('x-request-id')).toBe('order-17:retry.2');
    expect(harness.upstreams.content.received[0]?.headers['x-request-id']).toBe('order-17:retry.2');
  });

  test.each(['', 'with space', 'x'.repeat(129), '<script>'])(
    'the X-Request-Id %j is replaced by a generated id',
    async (id) => {
      const answer = await rawRequest(harness.url, '/api/v1/posts', { headers: { 'x-request-id': id } });
      expect(answer.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
    },
  );

  test('the client’s trace continues in the service, with a span of the gateway', async () => {
    const trace = 'a'.repeat(32);
    const { headers } = await send({ traceparent: `00-${trace}-${'b'.repeat(16)}-01` });
    expect(headers.traceparent).toMatch(new RegExp(`^00-${trace}-(?!b{16})[0-9a-f]{16}-01$`));
  });

  test('a malformed traceparent is replaced by a new trace', async () => {
    const { headers } = await send({ traceparent: '00-zz-1-01' });
    expect(headers.traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
  });
});

describe('response headers', () => {
  test('response headers for the client are forwarded', async () => {
    const headers = {
      'content-language': 'fa',
      'retry-after': '17',
      'x-ratelimit-limit': '10',
      'x-ratelimit-remaining': '0',
      etag: '"abc"',
      'accept-ranges': 'bytes',
      'content-range': 'bytes 0-3/10',
      location: 'https://app.example.com/back?x=1',
      'content-disposition': 'attachment; filename="a.pdf"',
      'content-type': 'application/pdf',
      'cache-control': 'private, max-age=60',
      'www-authenticate': 'Bearer realm="x"',
      allow: 'GET, PUT',
    };
    harness.upstreams.media.handler = (_request, response) => response.writeHead(401, headers).end('1234');
    const answer = await rawRequest(harness.url, '/api/v1/media/1/a.pdf');
    expect(answer.headers).toMatchObject(headers);
    expect(answer.text).toBe('1234');
  });

  test('internal and hop-by-hop response headers are not forwarded', async () => {
    harness.upstreams.content.handler = (_request, response) =>
      response
        .writeHead(200, {
          'x-powered-by': 'x',
          server: 'x',
          'x-caller-context': 'x',
          'x-client-address': 'x',
          'x-internal-shard': 'x',
          'keep-alive': 'timeout=9',
          connection: 'keep-alive, x-of-this-hop',
          'x-of-this-hop': 'x',
          traceparent: 'x',
        })
        .end('{}');
    const { headers } = await rawRequest(harness.url, '/api/v1/posts');
    for (const name of [
      'x-powered-by',
      'server',
      'x-caller-context',
      'x-client-address',
      'x-internal-shard',
      'x-of-this-hop',
      'traceparent',
    ]) {
      expect([name, headers[name]]).toEqual([name, undefined]);
    }
    expect(headers['keep-alive']).not.toBe('timeout=9');
  });

  test.each([
    ['/api/v1/posts', 200],
    ['/api/v1/nothing', 404],
    ['/api/v1/%zz', 400],
    ['/nothing', 404],
    ['/health/live', 200],
    ['/health/services', 404],
    ['/metrics', 404],
    ['/docs', 200],
  ])('%s (%i) has the security headers and a request id', async (path, status) => {
    const answer = await rawRequest(harness.url, path);
    expect(answer.status).toBe(status);
    expect(answer.headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'x-request-id': expect.stringMatching(/.+/),
    });
    expect([answer.headers['x-powered-by'], answer.headers.server]).toEqual([undefined, undefined]);
  });

  test('a 401 has the security headers', async () => {
    const answer = await rawRequest(harness.url, '/api/v1/posts', { headers: bearer('unknown') });
    expect(answer.headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
    });
  });

  test('a service cannot remove or change the security headers', async () => {
    harness.upstreams.content.handler = (_request, response) =>
      response.writeHead(200, { 'referrer-policy': 'unsafe-url', 'x-request-id': 'other' }).end('{}');
    const answer = await rawRequest(harness.url, '/api/v1/posts', { headers: { 'x-request-id': 'mine' } });
    expect(answer.headers).toMatchObject({ 'referrer-policy': 'no-referrer', 'x-request-id': 'mine' });
  });
});

describe('a public origin with TLS', () => {
  let secure: Harness;
  let plain: Harness;
  beforeAll(async () => {
    secure = await startHarness({
      PUBLIC_BASE_URL: 'https://api.example.com',
      SECURITY_CONTACT: 'mailto:security@example.com',
    });
    plain = await startHarness({ PUBLIC_BASE_URL: 'http://127.0.0.1:8080' });
  });
  afterAll(() => Promise.all([secure.close(), plain.close()]));

  test.each(['/api/v1/posts', '/api/v1/openapi.json', '/health/live', '/nobody', '/docs'])(
    '%s tells browsers to use only TLS, but not if the public origin has no TLS',
    async (path) => {
      const answers = await Promise.all([secure, plain].map(({ url }) => fetch(`${url}${path}`)));
      const policies = answers.map(({ headers }) => headers.get('strict-transport-security'));
      expect(policies).toEqual(['max-age=31536000', null]);
    },
  );

  test('security.txt names the contact, and expires within a year', async () => {
    const answer = await fetch(`${secure.url}/.well-known/security.txt`);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/plain; charset=utf-8']);
    const fields = Object.fromEntries(
      (await answer.text())
        .trimEnd()
        .split('\n')
        .map((line) => line.split(': ')),
    );
    expect(fields).toEqual({
      Contact: 'mailto:security@example.com',
      Expires: expect.any(String),
      'Preferred-Languages': [...CATALOGUES.keys()].join(', '),
      Canonical: 'https://api.example.com/.well-known/security.txt',
    });
    const days = (Date.parse(fields.Expires) - Date.now()) / 86_400_000;
    expect(days > 30 && days < 365).toBe(true);
  });

  test('security.txt returns 404 without a contact', async () => {
    expect((await fetch(`${plain.url}/.well-known/security.txt`)).status).toBe(404);
  });
});
