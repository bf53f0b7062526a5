/** Clients that stall, and services that do not respond, leave room for all other requests. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { toAppError } from '@fitness/shared/http/error-handler.ts';
import { HTTP_STATUS } from '@fitness/shared/kernel/error.ts';
import { caller, eventually } from '@fitness/shared/testing/harness.ts';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createReadBody } from '../src/request/body.ts';
import { TOKEN_CHECK_VALID_MS } from '../src/request/prepare-forward.ts';
import { bearer, type Harness, MEMBER_TOKEN, startHarness } from './support.ts';

const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

const talk = (url: string, text: string) => {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  sockets.push(socket);
  const answer = { text: '', ended: false, socket };
  socket.on('data', (chunk) => {
    answer.text += chunk.toString('latin1');
  });
  for (const event of ['end', 'error'] as const) {
    socket.on(event, () => {
      answer.ended = true;
    });
  }
  socket.write(text);
  return answer;
};

const JSON_TYPE = 'application/json';
const FORM_TYPE = 'multipart/form-data; boundary=x';

/** Sends a request whose body stops after `sent`. */
const stall = (
  url: string,
  path: string,
  { type = JSON_TYPE, length = 300, sent = '{', token = '' } = {},
) => {
  const lines = [
    `POST /api/v1${path} HTTP/1.1`,
    'host: x',
    ...(token === '' ? [] : [`authorization: Bearer ${token}`]),
    `content-type: ${type}`,
    `content-length: ${length}`,
  ];
  return talk(url, `${lines.join('\r\n')}\r\n\r\n${sent}`);
};

const expectOverloaded = async (answer: Response): Promise<void> => {
  expect([answer.status, await answer.json()]).toEqual([
    503,
    { message: 'We are handling too many requests right now. Please try again in a moment.' },
  ]);
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
};

describe('with the default limits', () => {
  let harness: Harness;
  beforeAll(async () => {
    harness = await startHarness();
  });
  beforeEach(() => harness.reset());
  afterAll(() => harness.close());

  test('a slow request is checked again: it is rejected with 401 if its token was revoked meanwhile, and else complete', async () => {
    const { content, media } = harness.upstreams;
    harness.tokens.set('fps_revoked', caller(8));
    /** The bodies of the uploads by their token and framing, and whether they were complete. */
    const seen: Record<string, [body: string, isComplete: boolean]> = {};
    media.handler = (request, response) => {
      let body = '';
      request.on('data', (chunk) => {
        body += chunk;
      });
      request.once('end', () => response.end('{}'));
      request.once('close', () => {
        seen[String(request.headers['user-agent'])] = [body, request.complete];
      });
    };
    const sendSlowly = (name: string, token: string) => {
      const send = (path: string, type: string, framing: string, first: string) => {
        const head = `POST /api/v1${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\n`;
        const [kind] = framing.split(':');
        const agent = `user-agent: ${name} ${kind}\r\n`;
        return talk(harness.url, `${head}${agent}content-type: ${type}\r\n${framing}\r\n\r\n${first}`);
      };
      return [
        [send('/posts', JSON_TYPE, 'content-length: 2', '{'), '}'],
        [send('/media', FORM_TYPE, 'content-length: 2', 'a'), 'b'],
        [send('/media', FORM_TYPE, 'transfer-encoding: chunked', '1\r\na\r\n'), '1\r\nb\r\n0\r\n\r\n'],
      ] as const;
    };
    const slow = [...sendSlowly('valid', MEMBER_TOKEN), ...sendSlowly('revoked', 'fps_revoked')];
    await eventually(() => content.checks.length === 2 && media.received.length === 4);
    harness.tokens.delete('fps_revoked');
    await sleep(2 * TOKEN_CHECK_VALID_MS);
    for (const [{ socket }, rest] of slow) socket.write(rest);
    await eventually(() => slow.every(([{ text }]) => text !== '') && Object.keys(seen).length === 4);
    const statuses = slow.map(([{ text }]) => text.slice(9, 12));
    expect(statuses).toEqual(['200', '200', '200', '401', '401', '401']);
    expect(content.received.map(({ body }) => body.toString())).toEqual(['{}']);
    expect(seen).toEqual({
      'valid content-length': ['ab', true],
      'valid transfer-encoding': ['ab', true],
      'revoked content-length': [expect.any(String), false],
      'revoked transfer-encoding': [expect.any(String), false],
    });
    expect(harness.introspections()).toBe(12);
  });

  test('a user can have at most 32 uploads in progress over all tokens, and others are not affected', async () => {
    harness.tokens.set('fps_second', { ...caller(7), tokenId: 'second' });
    harness.tokens.set('fps_other', caller(8));
    const { media } = harness.upstreams;
    const upload = (token: string) =>
      fetch(`${harness.url}/api/v1/media`, {
        method: 'POST',
        headers: { ...bearer(token), 'content-type': FORM_TYPE, 'accept-language': 'fa' },
        body: 'x',
      });
    const tokens = Array.from({ length: 32 }, (_, n) => (n % 2 === 0 ? MEMBER_TOKEN : 'fps_second'));
    const stalled = tokens.map((token) => stall(harness.url, '/media', { type: FORM_TYPE, token }));
    await eventually(() => media.received.length === 32);
    const refused = await upload('fps_second');
    expect(refused.status).toBe(503);
    expect(((await refused.json()) as { message: string }).message).toMatch(/\p{Script=Arabic}/u);
    expect(refused.headers.get('retry-after')).toMatch(/^\d+$/);
    expect(media.received).toHaveLength(32);
    expect((await upload('fps_other')).status).toBe(200);
    expect((await fetch(`${harness.url}/api/v1/media/1`, { headers: bearer() })).status).toBe(200);
    stalled[0]?.socket.destroy();
    await eventually(async () => (await upload(MEMBER_TOKEN)).status === 200);
  });

  test('100 unread downloads delay no other download', async () => {
    harness.upstreams.media.handler = (request, response) => {
      response.writeHead(200, { 'content-length': '2' }).write('a');
      if (request.url?.startsWith('/api/v1/media/2') === true) response.end('b');
    };
    const leaving = new AbortController();
    const { signal } = leaving;
    await Promise.all(
      Array.from({ length: 100 }, () => fetch(`${harness.url}/api/v1/media/1/a.mp4`, { signal })),
    );
    const answer = await fetch(`${harness.url}/api/v1/media/2`, { signal: AbortSignal.timeout(30_000) });
    expect(await answer.text()).toBe('ab');
    leaving.abort();
  });
});

describe('a slow body', () => {
  let harness: Harness;
  beforeAll(async () => {
    harness = await startHarness({ BODY_TIMEOUT_MS: '1000', UPLOAD_IDLE_TIMEOUT_MS: '1000' });
  });
  beforeEach(() => harness.reset());
  afterAll(() => harness.close());

  test('100 stalled sign-ins delay no other request, and no late body, even if it drips or is an upload, reaches its service', async () => {
    let aborted = false;
    harness.upstreams.media.handler = (request) => {
      request.resume().once('close', () => {
        aborted = !request.complete;
      });
    };
    const stalled = Array.from({ length: 100 }, () => stall(harness.url, '/auth/login'));
    const dripping = ['/auth/login', '/posts', '/payments/deposit'].map((path) =>
      stall(harness.url, path, { length: 100_000 }),
    );
    const head = `POST /mcp HTTP/1.1\r\nhost: x\r\nauthorization: ${bearer().authorization}\r\n`;
    const ofMcp = talk(harness.url, `${head}content-type: ${JSON_TYPE}\r\ncontent-length: 300\r\n\r\n{`);
    const upload = stall(harness.url, '/media', { type: FORM_TYPE, length: 100_000 });
    const all = [...stalled, ...dripping, ofMcp, upload];
    const drip = setInterval(() => {
      for (const { socket } of dripping) socket.write(' ');
    }, 20);
    try {
      await Promise.all(stalled.map(({ socket }) => once(socket, 'connect')));
      const signal = AbortSignal.timeout(30_000);
      const answer = await fetch(`${harness.url}/api/v1/users/1`, { headers: bearer(), signal });
      expect(answer.status).toBe(200);
      await eventually(() => all.every(({ ended }) => ended));
    } finally {
      clearInterval(drip);
    }
    for (const { text } of all) expect(text).toMatch(/^HTTP\/1\.1 408 .*connection: close.*\{"message":"/is);
    expect(stalled[0]?.text).toContain('{"message":"The request took too long to arrive."}');
    expect(harness.upstreams.identity.received.map(({ url }) => url)).toEqual(['/api/v1/users/1']);
    for (const service of ['content', 'wallet'] as const)
      expect(harness.upstreams[service].received).toEqual([]);
    await eventually(() => aborted);
  });

  test('an upload does not time out while the service is slow to read it', async () => {
    let resume = (): void => undefined;
    harness.upstreams.media.handler = (request, response) => {
      resume = () => request.resume().once('end', () => response.end('{}'));
    };
    const body = Buffer.alloc(32 * 1024 * 1024);
    const answer = fetch(`${harness.url}/api/v1/media`, {
      method: 'POST',
      headers: { 'content-type': FORM_TYPE },
      body,
    });
    // Two other requests reach the limit, which shows that more time than the limit has passed.
    const stalled = stall(harness.url, '/auth/login');
    await eventually(() => stalled.ended);
    const again = stall(harness.url, '/auth/login');
    await eventually(() => again.ended);
    resume();
    expect((await answer).status).toBe(200);
  });
});

describe('a response that the client does not read', () => {
  let harness: Harness;
  beforeAll(async () => {
    harness = await startHarness({}, { readTimeoutMs: 500 });
  });
  beforeEach(() => harness.reset());
  afterAll(() => harness.close());

  test('an unread response is ended after the read timeout, but the download of a file is not', async () => {
    const opened = new Set<string>();
    const closed = new Set<string>();
    for (const service of ['media', 'content'] as const) {
      harness.upstreams[service].handler = (_request, response) => {
        opened.add(service);
        response.once('close', () => closed.add(service));
        // This is more than the buffers of the connections hold.
        response.writeHead(200).end(Buffer.alloc(48 * 1024 * 1024));
      };
    }
    const askWithoutReading = (path: string): void => {
      const { socket } = talk(harness.url, `GET /api/v1${path} HTTP/1.1\r\nhost: x\r\n\r\n`);
      socket.removeAllListeners('data').pause();
    };
    askWithoutReading('/media/1');
    await eventually(() => opened.has('media'));
    askWithoutReading('/posts');
    await eventually(() => closed.size > 0);
    expect([...closed]).toEqual(['content']);
  });
});

describe('the limits on open requests', () => {
  let harness: Harness;
  let leaving: AbortController;
  beforeAll(async () => {
    // The share of one service is 2.
    harness = await startHarness({ OPEN_REQUESTS_LIMIT: '8', OPEN_UPLOADS_LIMIT: '2' });
  });
  beforeEach(() => {
    harness.reset();
    leaving = new AbortController();
  });
  afterEach(async () => {
    leaving.abort();
    // The next test starts when every place is free again.
    await eventually(async () => {
      const paths = ['/auth/me', '/payments', '/gyms', '/posts'];
      const answers = await Promise.all(paths.map((path) => fetch(`${harness.url}/api/v1${path}`)));
      return answers.every(({ status }) => status === 200);
    });
  });
  afterAll(() => harness.close());

  const hang = (service: keyof Harness['upstreams'], path: string): void => {
    harness.upstreams[service].handler = () => undefined;
    for (let times = 0; times < 2; times += 1) {
      fetch(`${harness.url}/api/v1${path}`, { signal: leaving.signal }).catch(() => undefined);
    }
  };
  const release = (): void => {
    for (const upstream of Object.values(harness.upstreams)) upstream.handler = undefined;
  };

  test('a service that does not respond uses only its share: it gets 503, and others are served', async () => {
    hang('wallet', '/payments');
    await eventually(() => harness.upstreams.wallet.received.length === 2);
    await expectOverloaded(await fetch(`${harness.url}/api/v1/payments`));
    expect(harness.upstreams.wallet.received).toHaveLength(2);
    expect((await fetch(`${harness.url}/api/v1/posts`)).status).toBe(200);
    release();
  });

  test('a full gateway returns 503 in the language of the client, and still serves health checks', async () => {
    hang('wallet', '/payments');
    hang('gyms', '/gyms');
    hang('content', '/posts');
    hang('identity', '/users/1');
    await eventually(() =>
      (['wallet', 'gyms', 'content', 'identity'] as const).every(
        (service) => harness.upstreams[service].received.length === 2,
      ),
    );
    await expectOverloaded(await fetch(`${harness.url}/docs`));
    const headers = { 'accept-language': 'fa' };
    const answer = await fetch(`${harness.url}/api/v1/media/1`, { headers });
    expect([answer.status, answer.headers.get('content-language')]).toEqual([503, 'fa']);
    expect(((await answer.json()) as { message: string }).message).toMatch(/\p{Script=Arabic}/u);
    expect((await fetch(`${harness.url}/health/live`)).status).toBe(200);
    expect((await fetch(`${harness.url}/health/ready`)).status).toBe(200);
    release();
  });

  test('uploads and downloads have separate shares', async () => {
    harness.upstreams.media.handler = (request, response) => {
      if (request.method === 'GET') response.end('file');
      else request.resume().once('end', () => response.end('{}'));
    };
    const upload = () => fetch(`${harness.url}/api/v1/media`, { method: 'POST', body: new FormData() });
    const stalled = [1, 2].map(() => stall(harness.url, '/media', { type: FORM_TYPE }));
    await eventually(() => harness.upstreams.media.received.length === 2);
    await expectOverloaded(await upload());
    expect((await fetch(`${harness.url}/api/v1/media/1`)).status).toBe(200);
    const body = '{"title":"a"}';
    const headers = { 'content-type': JSON_TYPE };
    const posted = await fetch(`${harness.url}/api/v1/posts`, { method: 'POST', headers, body });
    expect(posted.status).toBe(200);
    stalled[0]?.socket.destroy();
    await eventually(async () => (await upload()).status === 200);
  });

  test('bodies being received use no share: their service responds, however many stall', async () => {
    const stalled = Array.from({ length: 20 }, () => stall(harness.url, '/auth/login'));
    const refused = () => stalled.filter(({ text }) => text.startsWith('HTTP/1.1 503 ')).length;
    // Each request uses a place while its headers are checked.
    await eventually(() => refused() + harness.upstreams.identity.checks.length >= stalled.length);
    await eventually(
      async () => (await fetch(`${harness.url}/api/v1/auth/me`, { headers: bearer() })).status === 200,
    );
    for (let times = 0; times < 3; times += 1) {
      const read = await fetch(`${harness.url}/api/v1/auth/me`, { headers: bearer() });
      expect(read.status).toBe(200);
      const headers = { 'content-type': JSON_TYPE };
      const signedIn = await fetch(`${harness.url}/api/v1/auth/login`, {
        method: 'POST',
        headers,
        body: '{}',
      });
      expect(signedIn.status).toBe(200);
    }
    // Only two bodies may be received at the same time.
    await eventually(() => refused() >= 18);
  });

  test('a complete body is refused with 503 and not forwarded if the share of its service is full', async () => {
    const late = stall(harness.url, '/payments/deposit', { length: 2 });
    await eventually(() => harness.upstreams.wallet.checks.length === 1);
    // The response to this request arrives after the headers of the stalled one have been checked.
    expect((await fetch(`${harness.url}/api/v1/posts`)).status).toBe(200);
    hang('wallet', '/payments');
    await eventually(() => harness.upstreams.wallet.received.length === 2);
    late.socket.write('}');
    await eventually(() => late.text !== '');
    expect(late.text).toMatch(/^HTTP\/1\.1 503 .*retry-after: \d/is);
    expect(harness.upstreams.wallet.received).toHaveLength(2);
    release();
  });

  test('the oldest stalled body is refused, not the newest', async () => {
    const oldest = stall(harness.url, '/auth/login');
    await once(oldest.socket, 'connect');
    // The response to this request arrives after the head of the stalled one has been read.
    expect((await fetch(`${harness.url}/api/v1/posts`)).status).toBe(200);
    expect(oldest.text).toBe('');
    for (const path of ['/gyms', '/payments/deposit', '/gyms', '/payments/deposit']) stall(harness.url, path);
    await eventually(() => oldest.text.startsWith('HTTP/1.1 503 '));
    expect(oldest.text).toMatch(/retry-after: \d/i);
    const headers = { 'content-type': JSON_TYPE };
    const posted = await fetch(`${harness.url}/api/v1/posts`, { method: 'POST', headers, body: '{}' });
    expect(posted.status).toBe(200);
  });
});

describe('the places of a service', () => {
  let harness: Harness;
  beforeAll(async () => {
    // A service has 64 places, of which one network can have 60. 16 more requests may wait.
    harness = await startHarness({ OPEN_REQUESTS_LIMIT: '256', TRUST_PROXY: '1' });
  });
  afterAll(() => harness.close());

  const read = async (address: string): Promise<number> => {
    const headers = { 'x-forwarded-for': address };
    const answer = await fetch(`${harness.url}/api/v1/users/1`, { headers });
    await answer.text();
    return answer.status;
  };
  /** Reads at once by addresses that repeat each read when it ends, while `work` runs. Returns their statuses. */
  const during = async (addresses: readonly string[], work: () => Promise<void>): Promise<Set<number>> => {
    harness.upstreams.identity.handler = async (_request, response) => {
      await sleep(20);
      response.end('{}');
    };
    const statuses = new Set<number>();
    let isOver = false;
    const readers = addresses.map(async (address) => {
      while (!isOver) statuses.add(await read(address));
    });
    try {
      await eventually(() => statuses.size > 0);
      await work();
    } finally {
      isOver = true;
      await Promise.all(readers);
    }
    return statuses;
  };
  const readByAnother = async (): Promise<void> => {
    for (let times = 0; times < 100; times += 1) expect(await read('192.0.2.1')).toBe(200);
  };

  test('an address that takes every place is refused, and another client is served 100 of 100 times', async () => {
    const statuses = await during(Array<string>(120).fill('198.51.100.1'), readByAnother);
    expect([...statuses].sort()).toEqual([200, 503]);
  });

  test('a client is served in turn while many addresses take every place', async () => {
    const addresses = Array.from({ length: 120 }, (_, index) => `198.51.100.${1 + (index % 8)}`);
    await during(addresses, readByAnother);
  });
});

describe('the limit for bytes being received', () => {
  let server: Server;
  const read: string[] = [];
  beforeAll(async () => {
    const readBody = createReadBody({ bytes: 1_000, timeoutMs: 60_000, bodies: 100, totalBytes: 1_500 });
    server = createServer(async (request, response) => {
      try {
        const body = await readBody(request);
        read.push(request.url ?? '');
        response.end(String(body.length));
      } catch (error) {
        response.writeHead(HTTP_STATUS[toAppError(error).kind]).end();
      }
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  const origin = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  test('the oldest body is refused at the limit, and complete bodies are not counted', async () => {
    const half = 'x'.repeat(800);
    const oldest = stall(origin(), '/oldest', { length: 1_000, sent: half });
    await once(oldest.socket, 'connect');
    for (let times = 0; times < 5; times += 1) {
      const answer = await fetch(`${origin()}/whole`, { method: 'POST', body: 'x'.repeat(600) });
      expect(await answer.text()).toBe('600');
    }
    expect(oldest.text).toBe('');
    const answer = await fetch(`${origin()}/large`, { method: 'POST', body: 'x'.repeat(900) });
    expect(await answer.text()).toBe('900');
    await eventually(() => oldest.text.startsWith('HTTP/1.1 503 '));
    expect(read).toEqual([...Array<string>(5).fill('/whole'), '/large']);
  });

  test('a single body above the limit for one body is rejected with 413', async () => {
    const answer = await fetch(`${origin()}/`, { method: 'POST', body: 'x'.repeat(1_001) });
    expect(answer.status).toBe(413);
  });
});
