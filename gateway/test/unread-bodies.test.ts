/**
 * Requests that are refused by their headers get their response before the body is read. An unread body ends
 * its connection.
 */
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { LIMIT_COUNTED_HEADER, ROUTE_HEADER } from '@fitness/shared/http/gateway-protocol.ts';
import { eventually } from '@fitness/shared/testing/harness.ts';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { allReceived, bearer, type Harness, startHarness } from './support.ts';

let harness: Harness;
beforeAll(async () => {
  // The timeout is longer than a test, so no response is a 408.
  harness = await startHarness({ BODY_TIMEOUT_MS: '300000' });
});
beforeEach(() => harness.reset());
afterAll(() => harness.close());

const MEBIBYTE = 1024 * 1024;
const PATH = '/api/v1/payments/store-purchases';

const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

/** Sends `parts`, and collects the responses until the gateway ends the connection. */
const talk = (...parts: (string | Buffer)[]) => {
  const socket = connect({ host: '127.0.0.1', port: Number(new URL(harness.url).port), allowHalfOpen: true });
  sockets.push(socket);
  const heard = { text: '', ended: false, failed: false, socket };
  socket.on('data', (chunk) => {
    heard.text += chunk.toString('latin1');
  });
  socket.once('end', () => {
    heard.ended = true;
  });
  socket.once('error', () => {
    heard.failed = true;
  });
  for (const part of parts) socket.write(part);
  return heard;
};

const headOf = (...headers: string[]): string =>
  [`POST ${PATH} HTTP/1.1`, 'host: x', 'content-type: application/json', ...headers, '', ''].join('\r\n');

const AUTHORIZED = `authorization: ${bearer().authorization}`;

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** A response with the header that names the route. */
const answering =
  (status: number, body: object = { message: 'no' }, headers: Record<string, string> = {}): Handler =>
  (_request, response) => {
    const text = status === 204 ? '' : JSON.stringify(body);
    const type = { 'content-type': 'application/json; charset=utf-8', [ROUTE_HEADER]: PATH };
    response.writeHead(status, { ...type, ...headers }).end(text);
  };

const CHUNK = Buffer.concat([Buffer.from('100000\r\n'), Buffer.alloc(MEBIBYTE, 'x'), Buffer.from('\r\n')]);

describe('a request that its route refuses by its headers', () => {
  // A refused connection stays open for half a second, so these are sent at the same time.
  const UNREAD: [what: string, parts: (string | Buffer)[]][] = [
    ['is not sent', [headOf(AUTHORIZED, 'content-length: 100')]],
    ['stops after its first byte', [headOf(AUTHORIZED, 'content-length: 100'), '{']],
    ['is chunked and not sent', [headOf(AUTHORIZED, 'transfer-encoding: chunked')]],
    [
      'is too large',
      [headOf(AUTHORIZED, `content-length: ${2 * MEBIBYTE}`), Buffer.alloc(2 * MEBIBYTE, 'x')],
    ],
    ['is chunked and too large', [headOf(AUTHORIZED, 'transfer-encoding: chunked'), CHUNK, CHUNK]],
  ];

  test('a refused request gets the response of its route before its body is read', async () => {
    harness.upstreams['store-billing'].check = answering(
      429,
      { message: 'Slow down.' },
      { 'retry-after': '7', 'x-ratelimit-limit': '10', 'x-ratelimit-remaining': '0' },
    );
    const all = UNREAD.map(([what, parts]) => ({ what, heard: talk(...parts) }));
    await eventually(() => all.every(({ heard }) => heard.ended));
    for (const { what, heard } of all) {
      const [head = '', body = ''] = heard.text.split('\r\n\r\n');
      expect([what, heard.failed, head.split(' ')[1]]).toEqual([what, false, '429']);
      expect(head.toLowerCase()).toContain('\r\nretry-after: 7\r\n');
      expect(head.toLowerCase()).toContain('\r\nconnection: close');
      expect(head).not.toContain('x-internal');
      expect(body).toContain('{"message":"Slow down."}');
    }
    expect(harness.upstreams['store-billing'].checks).toEqual(UNREAD.map(() => PATH));
    expect(allReceived(harness)).toEqual([]);
  });

  test('a request without a token gets the 401 with its challenge before its body is read', async () => {
    harness.upstreams['store-billing'].check = answering(401);
    const heard = talk(headOf('content-length: 100'));
    await eventually(() => heard.text !== '');
    expect(heard.text).toMatch(/^HTTP\/1\.1 401 (?:.*\r\n)*www-authenticate: Bearer\r\n/i);
  });

  test('a refused request gets no 100 Continue', async () => {
    harness.upstreams['store-billing'].check = answering(403);
    const heard = talk(headOf(AUTHORIZED, 'content-length: 100', 'expect: 100-continue'));
    await eventually(() => heard.text !== '');
    expect(heard.text).toMatch(/^HTTP\/1\.1 403 /);
  });

  test('a refused request ends its connection, and no later bytes are read as a request', async () => {
    harness.upstreams['store-billing'].check = answering(403);
    const framings = ['content-length: 100', 'transfer-encoding: chunked'];
    const all = framings.map((framing) => talk(headOf(AUTHORIZED, framing)));
    await eventually(() => all.every(({ ended }) => ended));
    const next = 'GET /api/v1/posts HTTP/1.1\r\nhost: x\r\n\r\n';
    for (const [index, { socket }] of all.entries()) {
      const rest = index === 0 ? 'x'.repeat(100) : '0\r\n\r\n';
      socket.write(`${next}${rest}${next}${next}`);
      socket.end();
    }
    await Promise.all(all.map(({ socket }) => once(socket, 'close')));
    for (const { text } of all) expect(text.match(/HTTP\/1\.1/g)).toHaveLength(1);
    expect(allReceived(harness)).toEqual([]);
  });

  test.each([
    ['with a token', AUTHORIZED],
    ['of a guest', 'accept: */*'],
  ])(
    'a request %s in one packet with its body is forwarded whole, and the connection stays',
    async (_who, header) => {
      const body = '{"a":1}';
      const whole = `${headOf(header, `content-length: ${body.length}`)}${body}`;
      const heard = talk(`${whole}${whole}`);
      await eventually(() => heard.text.match(/HTTP\/1\.1 200/g)?.length === 2);
      expect(harness.upstreams['store-billing'].checks).toEqual([]);
      expect(heard.ended).toBe(false);
    },
  );
});

describe('a request whose headers its route accepts', () => {
  beforeEach(() => {
    harness.upstreams['store-billing'].check = answering(
      204,
      {},
      { 'x-ratelimit-limit': '10', 'x-ratelimit-remaining': '4' },
    );
  });

  test('an accepted request is forwarded once its body has arrived, and counted once', async () => {
    const heard = talk(headOf(AUTHORIZED, 'content-length: 2', `${LIMIT_COUNTED_HEADER}: 1`), '{');
    await eventually(() => harness.upstreams['store-billing'].checks.length === 1);
    heard.socket.write('}');
    await eventually(() => heard.text !== '');
    const [received] = harness.upstreams['store-billing'].received;
    expect(received?.body.toString()).toBe('{}');
    expect(received?.headers[LIMIT_COUNTED_HEADER]).toBe('1');
    expect(heard.text).toMatch(/^HTTP\/1\.1 200 (?:.*\r\n)*x-ratelimit-remaining: 4\r\n/i);
  });

  test('an accepted request with a body that is too large is rejected with 413, and ends its connection', async () => {
    const heard = talk(headOf(AUTHORIZED, `content-length: ${2 * MEBIBYTE}`), Buffer.alloc(2 * MEBIBYTE));
    await eventually(() => heard.ended);
    expect(heard.text).toMatch(/^HTTP\/1\.1 413 (?:.*\r\n)*connection: close\r\n/i);
    expect(allReceived(harness)).toEqual([]);
  });

  test('an accepted request with Expect: 100-continue gets 100 Continue', async () => {
    const heard = talk(headOf(AUTHORIZED, 'content-length: 2', 'expect: 100-continue'));
    await eventually(() => heard.text.includes('100 Continue'));
    heard.socket.write('{}');
    await eventually(() => heard.text.includes('HTTP/1.1 200'));
    expect(harness.upstreams['store-billing'].received[0]?.body.toString()).toBe('{}');
  });
});

test('a client cannot claim that its request was already counted', async () => {
  const heard = talk(
    `${headOf(AUTHORIZED, 'content-length: 2', `${LIMIT_COUNTED_HEADER}: 1`, 'connection: close')}{}`,
  );
  await eventually(() => heard.ended);
  expect(harness.upstreams['store-billing'].received[0]?.headers).not.toHaveProperty(LIMIT_COUNTED_HEADER);
});

test('a service that cannot check headers alone gets the whole request', async () => {
  const heard = talk(headOf(AUTHORIZED, 'content-length: 2'), '{');
  await eventually(() => harness.upstreams['store-billing'].checks.length === 1);
  heard.socket.write('}');
  await eventually(() => heard.text !== '');
  expect(heard.text).toMatch(/^HTTP\/1\.1 200 /);
  expect(harness.upstreams['store-billing'].received[0]?.headers).not.toHaveProperty(LIMIT_COUNTED_HEADER);
});

test('a request to a silent service fails with 503 before its body is read, without an unknown outcome', async () => {
  harness.upstreams['store-billing'].check = (request) => request.socket.destroy();
  const heard = talk(headOf(AUTHORIZED, 'content-length: 100'));
  await eventually(() => heard.text.endsWith('}'));
  expect(heard.text).toMatch(/^HTTP\/1\.1 503 /);
  expect(heard.text).not.toContain('outcome_unknown');
});

test('the authorization server gets no request without its body', async () => {
  const head = `POST /oauth/token HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\n\r\n`;
  const heard = talk(head, 'a');
  heard.socket.write('=b');
  await eventually(() => heard.text !== '');
  expect(harness.upstreams.identity.checks).toEqual([]);
  expect(harness.upstreams.identity.received[0]?.body.toString()).toBe('a=b');
});

test.each([
  [
    'a preflight',
    'OPTIONS /api/v1/posts',
    ['origin: https://a.example', 'access-control-request-method: GET'],
  ],
  ['a page', 'GET /docs', []],
  ['a document', 'GET /.well-known/oauth-authorization-server', []],
  ['an unknown path', 'GET /nothing', []],
  ['an unknown path with an empty body', 'POST /nothing', ['content-length: 0']],
])('the connection of %s, which has no body, serves the next request', async (_what, line, headers) => {
  const first = [`${line} HTTP/1.1`, 'host: x', ...headers, '', ''].join('\r\n');
  const heard = talk(`${first}GET /api/v1/cities HTTP/1.1\r\nhost: x\r\n\r\n`);
  await eventually(() => heard.text.match(/HTTP\/1\.1 \d/g)?.length === 2);
  expect(heard.text).not.toMatch(/\r\nconnection: close/i);
  expect(heard.ended).toBe(false);
});

const ENDING: [status: string, line: string, headers: string[], body: string][] = [
  ['501', 'POST /api/v1/posts', ['host: x', 'transfer-encoding: gzip, chunked'], '0\r\n\r\n'],
  ['404', 'POST /nothing', ['host: x', 'content-length: 5'], 'abcde'],
  ['400', 'POST /api/v1/posts', ['host: [', 'content-length: 5'], 'abcde'],
  ['405', 'POST /api/v1/openapi.json', ['host: x', 'content-length: 5'], 'abcde'],
];

test('a response that ends the connection discards the requests behind it in the same packet', async () => {
  const next = `${headOf(AUTHORIZED, 'content-length: 2')}{}`;
  const all = ENDING.map(([, line, headers, body]) =>
    talk(`${[`${line} HTTP/1.1`, ...headers, '', body].join('\r\n')}${next}${next}`),
  );
  await eventually(() => all.every(({ ended }) => ended));
  const statuses = all.map(({ text }) => text.match(/HTTP\/1\.1 \d{3}/g));
  expect(statuses).toEqual(ENDING.map(([status]) => [`HTTP/1.1 ${status}`]));
  expect(allReceived(harness)).toEqual([]);
});

test('an HTTP/1.0 client gets no 100 Continue', async () => {
  const head = headOf(AUTHORIZED, 'content-length: 2', 'expect: 100-continue').replace(
    'HTTP/1.1',
    'HTTP/1.0',
  );
  const heard = talk(head);
  await eventually(() => harness.upstreams['store-billing'].checks.length === 1);
  heard.socket.write('{}');
  await eventually(() => heard.ended);
  expect(heard.text).toMatch(/^HTTP\/1\.1 200 /);
});
