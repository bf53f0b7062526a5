/** Tests the client against a server with scripted responses. */
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import {
  ApiError,
  type ClientOptions,
  ConflictError,
  createClient,
  NetworkError,
  newIdempotencyKey,
  RateLimitError,
  UnavailableError,
  unwrap,
  ValidationError,
} from './index.ts';

interface Received {
  method: string | undefined;
  url: string | undefined;
  headers: IncomingMessage['headers'];
  body: string;
}
interface Laid {
  /** 0: the connection is closed; -1: it stays open, without a response. */
  status: number;
  body?: unknown;
  headers?: Record<string, string>;
}

let server: Server;
let received: Received[];
let answers: Laid[];

beforeAll(async () => {
  server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    const { method, url, headers } = request;
    received.push({ method, url, headers, body });
    const { status, body: answer, headers: extra } = answers.shift() ?? { status: 599 };
    if (status === 0) request.socket.destroy();
    if (status <= 0) return;
    response.writeHead(status, { 'content-type': 'application/json', ...extra });
    response.end(answer === undefined ? '' : JSON.stringify(answer));
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  received = [];
  answers = [];
});

const connect = (options: Partial<ClientOptions> = {}) =>
  createClient({ baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, ...options });

const busy = (code?: string): Laid => ({
  status: 503,
  body: { message: 'Later.', ...(code === undefined ? {} : { code }) },
  headers: { 'retry-after': '0' },
});
const deposit = { amount: 50_000 };
const page = (ids: number[], next: string | null): Laid => ({
  status: 200,
  body: { data: ids.map((id) => ({ id })), meta: { next_cursor: next } },
});

describe('the token', () => {
  test('the token of the last login is used, and no token is sent with a login', async () => {
    const calls: (string | undefined)[] = [];
    const client = connect({ token: 'old', onToken: (token) => calls.push(token) });
    answers = [
      { status: 200, body: { token: 'new' } },
      { status: 200, body: {} },
      { status: 204 },
      { status: 200, body: {} },
    ];
    await client.login({ login: 'sara', password: 'secret-1' });
    await client.GET('/api/v1/auth/me');
    await client.logout();
    await client.GET('/api/v1/auth/me');
    const sent = received.map(({ headers }) => headers.authorization);
    expect(sent).toEqual([undefined, 'Bearer new', 'Bearer new', undefined]);
    expect(calls).toEqual(['new', undefined]);
  });

  test('a token function is called before each request', async () => {
    let turn = 0;
    const client = connect({
      token: async () => {
        turn += 1;
        return `t${turn}`;
      },
    });
    answers = [
      { status: 200, body: {} },
      { status: 200, body: {} },
    ];
    await client.GET('/api/v1/auth/me');
    await client.GET('/api/v1/auth/me');
    expect(received.map(({ headers }) => headers.authorization)).toEqual(['Bearer t1', 'Bearer t2']);
  });
});

describe('a 503 with Retry-After', () => {
  test('a 503 for a POST that moves money is retried with the same key and the whole body', async () => {
    answers = [busy(), busy('outcome_unknown'), { status: 201, body: { payment: { id: 1 } } }];
    const made = await unwrap(connect().POST('/api/v1/payments/deposit', { body: deposit }));
    expect(made.payment.id).toBe(1);
    const keys = new Set(received.map(({ headers }) => headers['idempotency-key']));
    expect([...keys]).toEqual([expect.stringMatching(/^[\da-f]{32}$/)]);
    expect(received.map(({ body }) => JSON.parse(body))).toEqual([deposit, deposit, deposit]);
  });

  test('a 503 for a GET is retried unless its outcome is unknown', async () => {
    answers = [busy(), { status: 200, body: {} }, busy('outcome_unknown')];
    const client = connect();
    expect((await client.GET('/api/v1/payments/prices')).response.status).toBe(200);
    expect((await client.GET('/api/v1/payments/prices')).response.status).toBe(503);
    expect(received).toHaveLength(3);
  });

  test('a 503 is returned where a retry may have a second effect', async () => {
    answers = [busy(), busy()];
    const client = connect();
    const post = { title: 'T', type: 'post', body: 'B' } as never;
    await client.POST('/api/v1/posts', { body: post });
    await client.PUT('/api/v1/auth/me', { body: { height: 170 } });
    expect(received.map(({ method }) => method)).toEqual(['POST', 'PUT']);
    expect(received[0]?.headers['idempotency-key']).toBeUndefined();
  });

  test('a 503 is returned after the last retry, without Retry-After, or if the wait is too long', async () => {
    const client = connect({ retries: 2, maxRetryAfterSeconds: 5 });
    answers = [busy(), busy(), busy()];
    await expect(unwrap(client.GET('/api/v1/posts'))).rejects.toBeInstanceOf(UnavailableError);
    expect(received).toHaveLength(3);
    answers = [{ ...busy(), headers: {} }];
    await client.GET('/api/v1/posts');
    answers = [{ ...busy(), headers: { 'retry-after': '6' } }];
    await client.GET('/api/v1/posts');
    expect(received).toHaveLength(5);
  });

  test('a retry waits as long as Retry-After says, and ends when the caller aborts', async () => {
    const soon = { ...busy(), headers: { 'retry-after': '1' } };
    answers = [soon, { status: 200, body: {} }, soon];
    const startedAt = performance.now();
    await connect().GET('/api/v1/payments/prices');
    expect(performance.now() - startedAt).toBeGreaterThan(900);
    const stopped = connect().GET('/api/v1/payments/prices', { signal: AbortSignal.timeout(100) });
    await expect(stopped).rejects.toThrow();
    expect(received).toHaveLength(3);
  });
});

describe('a lost connection', () => {
  const thrownBy = (work: Promise<unknown>): Promise<unknown> =>
    work.then(
      () => {
        throw new Error('it was answered');
      },
      (error: unknown) => error,
    );

  test('a lost connection is retried for a GET, and for a POST with the same key', async () => {
    answers = [{ status: 0 }, { status: 200, body: {} }, { status: 0 }, { status: 201, body: {} }];
    const client = connect();
    expect((await client.GET('/api/v1/payments/prices')).response.status).toBe(200);
    expect((await client.POST('/api/v1/payments/deposit', { body: deposit })).response.status).toBe(201);
    const [, , first, second] = received.map(({ headers }) => headers['idempotency-key']);
    expect([first, second]).toEqual([first, expect.stringMatching(/^[\da-f]{32}$/)]);
    expect(second).toBe(first);
  });

  test('a lost connection is an error with its cause where a retry may have a second effect', async () => {
    answers = [{ status: 0 }];
    const error = await thrownBy(connect().PUT('/api/v1/auth/me', { body: { height: 170 } }));
    expect(error).toBeInstanceOf(NetworkError);
    expect(error).toMatchObject({ isTimeout: false, isOutcomeUnknown: true, cause: expect.any(Error) });
    expect((error as Error).message).toMatch(/^PUT http:.*\/api\/v1\/auth\/me: no connection$/);
    expect(received).toHaveLength(1);
  });

  test('a timeout on the last retry is a NetworkError', async () => {
    answers = [{ status: 0 }, { status: -1 }];
    const client = connect({ retries: 1, timeoutMs: 100 });
    const error = await thrownBy(client.GET('/api/v1/payments/prices', { params: { query: {} } } as never));
    expect(error).toMatchObject({ name: 'NetworkError', isTimeout: true, isOutcomeUnknown: false });
    expect(received).toHaveLength(2);
  });

  test('an aborted request rejects with the reason that the caller gave', async () => {
    answers = [{ status: -1 }];
    const stopped = new AbortController();
    const answer = thrownBy(connect().GET('/api/v1/payments/prices', { signal: stopped.signal }));
    setTimeout(() => stopped.abort(new Error('enough')), 100);
    expect(await answer).toEqual(new Error('enough'));
    expect(received).toHaveLength(1);
  });
});

describe('a 401', () => {
  test('a 401 drops the token and notifies the app once', async () => {
    const calls: string[] = [];
    const client = connect({
      token: 'old',
      onToken: (token) => calls.push(`token ${token}`),
      onUnauthorized: () => calls.push('unauthorized'),
    });
    answers = [
      { status: 401, body: {} },
      { status: 200, body: {} },
    ];
    await client.GET('/api/v1/auth/me');
    await client.GET('/api/v1/posts');
    expect(calls).toEqual(['token undefined', 'unauthorized']);
    expect(received[1]?.headers.authorization).toBeUndefined();
  });

  test('a 401 for an earlier token or a wrong password changes nothing', async () => {
    const calls: string[] = [];
    const client = connect({ token: 'current', onUnauthorized: () => calls.push('unauthorized') });
    answers = [
      { status: 401, body: {} },
      { status: 401, body: {} },
    ];
    await client.GET('/api/v1/auth/me', { headers: { authorization: 'Bearer earlier' } });
    await expect(client.login({ login: 'sara', password: 'wrong-password' })).rejects.toBeInstanceOf(
      ApiError,
    );
    expect(calls).toEqual([]);
  });
});

describe('an upload', () => {
  const fields = { attachable_type: 'App\\Models\\User', attachable_id: 12 } as const;

  test('an upload sends the fields before the file, with its name', async () => {
    answers = [{ status: 201, body: { data: { id: 31 } } }];
    const picture = new Blob(['pixels'], { type: 'image/png' });
    const made = await connect().upload(picture, { ...fields, purpose: undefined } as never, {
      filename: 'a.png',
    });
    expect(made.id).toBe(31);
    const [{ headers, body = '' } = { headers: {} }] = received;
    expect(headers['content-type']).toMatch(/^multipart\/form-data; boundary=/);
    expect(
      [...body.matchAll(/name="(\w+)"(?:; filename="([^"]+)")?/g)].map(([, name, file]) => [name, file]),
    ).toEqual([
      ['attachable_type', undefined],
      ['attachable_id', undefined],
      ['file', 'a.png'],
    ]);
  });

  test('an upload has a separate timeout and is not retried', async () => {
    answers = [{ status: -1 }];
    const client = connect({ timeoutMs: 1, uploadTimeoutMs: 150 });
    const startedAt = performance.now();
    await expect(client.upload(new Blob(['x']), fields as never)).rejects.toMatchObject({ isTimeout: true });
    expect(performance.now() - startedAt).toBeGreaterThan(140);
    expect(received).toHaveLength(1);
  });
});

test('keys are generated without crypto, which React Native lacks', () => {
  const { crypto } = globalThis;
  Object.defineProperty(globalThis, 'crypto', { value: undefined, configurable: true });
  try {
    const keys = new Set(Array.from({ length: 100 }, () => newIdempotencyKey()));
    expect(keys.size).toBe(100);
    for (const key of keys) expect(key).toMatch(/^[\da-f]{32}$/);
  } finally {
    Object.defineProperty(globalThis, 'crypto', { value: crypto, configurable: true });
  }
});

describe('a key of the caller', () => {
  test('a key that the caller sets is sent unchanged', async () => {
    answers = [{ status: 201, body: {} }];
    const params = { header: { 'idempotency-key': 'mine' } };
    await connect().POST('/api/v1/payments/deposit', { body: deposit, params });
    expect(received[0]?.headers['idempotency-key']).toBe('mine');
  });
});

describe('a list', () => {
  test('a list is fetched page by page with its query, and only as far as its rows are read', async () => {
    answers = [page([1, 2], 'c1'), page([3], null)];
    const ids: number[] = [];
    const query = { type: ['article', 'video'] as never, per_page: 2 };
    for await (const { id } of connect().list('/api/v1/posts', query)) ids.push(id);
    expect(ids).toEqual([1, 2, 3]);
    const [first, second] = received.map(({ url }) => String(url));
    expect(first).toBe('/api/v1/posts?type=article,video&per_page=2');
    expect(second).toBe('/api/v1/posts?type=article,video&per_page=2&cursor=c1');

    received = [];
    answers = [page([1, 2], 'c1')];
    for await (const { id } of connect().list('/api/v1/posts')) if (id === 2) break;
    expect(received).toHaveLength(1);
  });
});

describe('a method by name', () => {
  test('a named method sends the id in the path, the body, the query and the key', async () => {
    answers = [
      { status: 200, body: { data: { id: 3 } } },
      { status: 201, body: { payment: { id: 1 } } },
      { status: 200, body: { balance: 7 } },
      { status: 204 },
    ];
    const client = connect();
    const refund = await client.refunds.resolve(3, { outcome: 'refunded', note: 'Paid back.' });
    expect(refund.data.id).toBe(3);
    await client.deposits.create(deposit, { idempotencyKey: 'mine' });
    expect((await client.balance.retrieve({ user_id: 5 })).balance).toBe(7);
    expect(await client.posts.delete(9)).toBeUndefined();
    expect(received.map(({ method, url, body }) => [method, url, body])).toEqual([
      [
        'POST',
        '/api/v1/payments/store-purchases/refund-queue/3/resolve',
        '{"outcome":"refunded","note":"Paid back."}',
      ],
      ['POST', '/api/v1/payments/deposit', JSON.stringify(deposit)],
      ['GET', '/api/v1/payments/balance?user_id=5', ''],
      ['DELETE', '/api/v1/posts/9', ''],
    ]);
    expect(received[1]?.headers['idempotency-key']).toBe('mine');
  });

  test('a named method reads a list row by row', async () => {
    answers = [page([1], 'c1'), page([2], null)];
    const ids: number[] = [];
    for await (const { id } of connect().gyms.list({ search: 'iron' })) ids.push(id);
    expect([ids, received[1]?.url]).toEqual([[1, 2], '/api/v1/gyms?search=iron&cursor=c1']);
  });

  test('a named method rejects with the error of the response, and stops when its signal aborts', async () => {
    answers = [{ status: 409, body: { message: 'Resolved.' } }, { status: -1 }];
    const client = connect();
    const resolution = { outcome: 'credited', note: 'Seen.' } as const;
    await expect(client.deposits.resolve(1, resolution)).rejects.toBeInstanceOf(ConflictError);
    const stopped = client.posts.retrieve(1, { signal: AbortSignal.timeout(50) });
    await expect(stopped).rejects.toThrow();
  });
});

describe('an error', () => {
  const failing = async (answer: Laid): Promise<ApiError> => {
    answers = [answer];
    const error: unknown = await unwrap(connect().GET('/api/v1/auth/me')).catch((thrown: unknown) => thrown);
    if (!(error instanceof ApiError)) throw new Error('it was not refused');
    return error;
  };

  test('the class of an error depends on its status', async () => {
    const invalid = await failing({ status: 422, body: { message: 'Bad.', errors: { login: ['No.'] } } });
    expect(invalid).toBeInstanceOf(ValidationError);
    expect((invalid as ValidationError).fields).toEqual({ login: ['No.'] });

    const conflict = await failing({
      status: 409,
      body: { error: 'Not yet.', code: 'account_deletion_blocked' },
    });
    expect(conflict).toBeInstanceOf(ConflictError);
    expect([conflict.message, conflict.code]).toEqual(['Not yet.', 'account_deletion_blocked']);

    const refused = await failing({
      status: 429,
      body: { message: 'Slow.' },
      headers: { 'retry-after': '17' },
    });
    expect((refused as RateLimitError).retryAfterSeconds).toBe(17);
    expect(refused).toBeInstanceOf(RateLimitError);

    const lost = await failing(busy('outcome_unknown'));
    expect((lost as UnavailableError).isOutcomeUnknown).toBe(true);

    const headers = { 'x-request-id': 'r-1' };
    const other = await failing({ status: 418, body: { message: 'Tea.' }, headers });
    expect([other.name, other.status, other.body]).toEqual(['ApiError', 418, { message: 'Tea.' }]);
    expect(other.requestId).toBe('r-1');
  });
});
