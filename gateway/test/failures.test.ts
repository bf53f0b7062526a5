import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { bearer, type Harness, startHarness } from './support.ts';

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
});
beforeEach(() => harness.reset());
afterAll(() => harness.close());

const expectUnavailable = async (answer: Response, code?: string): Promise<void> => {
  expect(answer.status).toBe(503);
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
  const text = await answer.text();
  const expected = { message: expect.any(String), ...(code === undefined ? {} : { code }) };
  expect(JSON.parse(text)).toEqual(expected);
  expect(text).not.toMatch(/127\.0\.0\.|ECONN|wallet|:\d{4}/);
};

describe('a service that is down', () => {
  beforeEach(() => harness.upstreams.wallet.stop());
  afterEach(() => harness.upstreams.wallet.start());

  test.each(['GET', 'POST', 'DELETE'])(
    'a %s to a service that is down fails with 503 and a message and Retry-After',
    async (method) => {
      await expectUnavailable(await fetch(`${harness.url}/api/v1/payments/1`, { method, headers: bearer() }));
    },
  );

  test('the message of a 503 is in the language of Accept-Language', async () => {
    const answer = await fetch(`${harness.url}/api/v1/payments`, { headers: { 'accept-language': 'fa' } });
    expect([answer.status, answer.headers.get('content-language')]).toEqual([503, 'fa']);
    expect(((await answer.json()) as { message: string }).message).toMatch(/\p{Script=Arabic}/u);
  });

  test('requests to other services succeed while one is down', async () => {
    expect((await fetch(`${harness.url}/api/v1/posts`)).status).toBe(200);
  });

  test('a GET is retried, and succeeds after a restart of the service', async () => {
    const answer = fetch(`${harness.url}/api/v1/payments`);
    await harness.upstreams.wallet.start();
    const { status } = await answer;
    await harness.upstreams.wallet.stop();
    expect(status).toBe(200);
  });
});

describe('a service that drops the connection before a response', () => {
  const dropFirst = (): void => {
    harness.upstreams.wallet.handler = (request, response) => {
      if (harness.upstreams.wallet.received.length === 1) request.socket.destroy();
      else response.end('{}');
    };
  };

  test.each(['GET', 'HEAD'])('a %s whose connection is dropped is retried once', async (method) => {
    dropFirst();
    expect((await fetch(`${harness.url}/api/v1/payments`, { method })).status).toBe(200);
    expect(harness.upstreams.wallet.received).toHaveLength(2);
  });

  test.each(['POST', 'PUT', 'DELETE'])(
    'a %s whose connection is dropped is never sent twice, and its outcome is unknown',
    async (method) => {
      dropFirst();
      const body = JSON.stringify({ amount: 1 });
      const headers = { 'content-type': 'application/json' };
      const answer = await fetch(`${harness.url}/api/v1/payments/deposit`, { method, headers, body });
      await expectUnavailable(answer, 'outcome_unknown');
      expect(harness.upstreams.wallet.received).toHaveLength(1);
    },
  );

  test('a GET fails with 503 if its only retry fails too', async () => {
    harness.upstreams.wallet.handler = (request) => request.socket.destroy();
    await expectUnavailable(await fetch(`${harness.url}/api/v1/payments`));
    expect(harness.upstreams.wallet.received).toHaveLength(2);
  });
});

describe('a service that does not respond in time', () => {
  let impatient: Harness;
  beforeAll(async () => {
    impatient = await startHarness({ UPSTREAM_TIMEOUT_MS: '300' });
  });
  beforeEach(() => impatient.reset());
  afterAll(() => impatient.close());

  test('a request to a service that does not respond fails with 503 after the timeout', async () => {
    impatient.upstreams.wallet.handler = () => undefined;
    const startedAt = performance.now();
    const read = fetch(`${impatient.url}/api/v1/payments`);
    const posted = fetch(`${impatient.url}/api/v1/payments/deposit`, { method: 'POST' });
    await expectUnavailable(await read);
    expect(performance.now() - startedAt).toBeGreaterThan(250);
    await expectUnavailable(await posted, 'outcome_unknown');
    const methods = impatient.upstreams.wallet.received.map(({ method }) => method);
    expect(methods.toSorted()).toEqual(['GET', 'POST']);
  });

  test('an interrupted response is incomplete for the client too', async () => {
    impatient.upstreams.wallet.handler = (_request, response) => {
      response.writeHead(200, { 'content-length': '100' }).write('half');
    };
    const answer = await fetch(`${impatient.url}/api/v1/payments`);
    await expect(answer.text()).rejects.toThrow();
  });
});

describe('the limit per address', () => {
  test.each(['/api/v1/posts', '/mcp'])(
    'the address limit treats an IPv6 network as one address: %s',
    async (path) => {
      const limited = await startHarness({
        ADDRESS_LIMIT_PER_MINUTE: '5',
        TRUST_PROXY: '1',
        EVENTS_NAMESPACE: `test-${crypto.randomUUID().slice(-12)}`,
      });
      try {
        const statusFrom = async (address: string): Promise<number> =>
          (await fetch(`${limited.url}${path}`, { headers: { 'x-forwarded-for': address } })).status;
        for (let host = 1; host <= 5; host += 1) {
          expect(await statusFrom(`2001:db8:1:2::${host}`)).not.toBe(429);
        }
        expect(await statusFrom('2001:db8:1:2::6')).toBe(429);
        expect(await statusFrom('2001:db8:1:3::1')).not.toBe(429);
      } finally {
        await limited.close();
      }
    },
  );

  test('the address limit is off by default', async () => {
    const statuses = await Promise.all(
      Array.from({ length: 50 }, async () => (await fetch(`${harness.url}/api/v1/posts`)).status),
    );
    expect(new Set(statuses)).toEqual(new Set([200]));
  });

  test.each([
    ['Redis', process.env.REDIS_URL ?? ''],
    ['memory, while Redis is unavailable', 'redis://127.0.0.1:1'],
  ])(
    'the address limit counts in %s: exactly five of twenty concurrent requests are accepted',
    async (_where, redisUrl) => {
      const limited = await startHarness({
        ADDRESS_LIMIT_PER_MINUTE: '5',
        REDIS_URL: redisUrl,
        EVENTS_NAMESPACE: `test-${crypto.randomUUID().slice(-12)}`,
      });
      try {
        const answers = await Promise.all(
          Array.from({ length: 20 }, () => fetch(`${limited.url}/api/v1/posts`)),
        );
        const refused = answers.filter(({ status }) => status === 429);
        expect(answers.filter(({ status }) => status === 200)).toHaveLength(5);
        expect(refused).toHaveLength(15);
        expect(refused[0]?.headers.get('x-ratelimit-limit')).toBe('5');
        expect(Number(refused[0]?.headers.get('retry-after'))).toBeGreaterThan(0);
        expect((await fetch(`${limited.url}/health/live`)).status).toBe(200);
      } finally {
        await limited.close();
      }
    },
  );
});
