import { once } from 'node:events';
import { connect } from 'node:net';
import { eventually } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { bearer, type Harness, rawRequest, startHarness } from './support.ts';

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
});
beforeEach(() => harness.reset());
afterAll(() => harness.close());

const MEBIBYTE = 1024 * 1024;
const JSON_TYPE = { 'content-type': 'application/json' };

const put = (path: string, body: Buffer, headers: Record<string, string> = {}) =>
  rawRequest(harness.url, path, { method: 'POST', headers: { ...JSON_TYPE, ...headers }, body });

describe('the size of a body', () => {
  test('a JSON body of one MiB is forwarded', async () => {
    const answer = await put('/api/v1/posts', Buffer.alloc(MEBIBYTE, 'x'));
    expect(answer.status).toBe(200);
    expect(harness.upstreams.content.received[0]?.body).toHaveLength(MEBIBYTE);
  });

  test('a body one byte above the limit is rejected with 413 and a message, and is not forwarded', async () => {
    const answer = await put('/api/v1/posts', Buffer.alloc(MEBIBYTE + 1, 'x'));
    expect([answer.status, JSON.parse(answer.text)]).toEqual([
      413,
      { message: 'The request body is too large.' },
    ]);
    expect(harness.upstreams.content.received).toEqual([]);
  });

  test('a chunked body above the limit is rejected with 413', async () => {
    const answer = await put('/api/v1/posts', Buffer.alloc(3 * MEBIBYTE, 'x'), {
      'transfer-encoding': 'chunked',
    });
    expect([answer.status, JSON.parse(answer.text)]).toEqual([
      413,
      { message: 'The request body is too large.' },
    ]);
  });

  test('a multipart body with a file of 25 MiB is forwarded unchanged', async () => {
    const body = Buffer.alloc(25 * MEBIBYTE + 1_000);
    for (let at = 0; at < body.length; at += 4_096) body.writeUInt32LE(at, at);
    const answer = await rawRequest(harness.url, '/api/v1/media', {
      method: 'POST',
      headers: { 'content-type': 'multipart/form-data; boundary=x' },
      body,
    });
    expect(answer.status).toBe(200);
    expect(harness.upstreams.media.received[0]?.body.equals(body)).toBe(true);
  });

  test.each(['/api/v1/media', '/api/v1/posts'])(
    'a body for %s with an invalid media type is forwarded, for the service to refuse',
    async (path) => {
      const answer = await rawRequest(harness.url, path, {
        method: 'POST',
        headers: { 'content-type': ';;;' },
        body: Buffer.from('x'),
      });
      expect(answer.status).toBe(200);
      const service = path.endsWith('media') ? 'media' : 'content';
      expect(harness.upstreams[service].received[0]?.headers['content-type']).toBe(
        'application/octet-stream',
      );
    },
  );

  test('a file above the limit of media is refused by media', async () => {
    harness.upstreams.media.handler = (request, response) => {
      request.resume().once('end', () => {
        response.writeHead(422, { 'content-type': 'application/json' }).end('{"errors":{"file":[]}}');
      });
    };
    const answer = await put('/api/v1/media', Buffer.alloc(26 * MEBIBYTE));
    expect([answer.status, answer.text]).toEqual([422, '{"errors":{"file":[]}}']);
  });

  test('an upload of more than 128 MiB is rejected with 413', async () => {
    const { hostname, port } = new URL(harness.url);
    const socket = connect(Number(port), hostname);
    const size = 128 * MEBIBYTE + 1;
    socket.write(
      `POST /api/v1/media HTTP/1.1\r\nhost: x\r\ncontent-type: x/y\r\ncontent-length: ${size}\r\n\r\n`,
    );
    const [chunk] = await once(socket, 'data');
    socket.destroy();
    expect(String(chunk)).toMatch('HTTP/1.1 413');
    expect(harness.upstreams.media.received).toEqual([]);
  });

  test('an invalid token is rejected with 401 before the size is checked', async () => {
    expect((await put('/api/v1/posts', Buffer.alloc(2 * MEBIBYTE), bearer('unknown'))).status).toBe(401);
  });
});

describe('a service that responds before it has read the body', () => {
  test.each([1, 12])('an early response arrives while %i MiB are still being sent', async (size) => {
    harness.upstreams.media.handler = (_request, response) =>
      response.writeHead(403, { 'content-type': 'application/json' }).end('{"message":"no"}');
    for (let time = 0; time < 2; time += 1) {
      const answer = await put('/api/v1/media', Buffer.alloc(size * MEBIBYTE));
      expect([answer.status, answer.text]).toEqual([403, '{"message":"no"}']);
    }
  });

  test('an early response arrives even if the service closes its connection', async () => {
    harness.upstreams.media.handler = (request, response) => {
      response.writeHead(413, { connection: 'close' }).end('{}');
      response.once('finish', () => request.destroy());
    };
    const answers = [];
    for (let time = 0; time < 3; time += 1)
      answers.push((await put('/api/v1/media', Buffer.alloc(5 * MEBIBYTE))).status);
    // The response races with the reset. The client receives an error in either case.
    expect(answers.every((status) => status === 413 || status === 503)).toBe(true);
  });
});

describe('a client that reads only after it has sent everything', () => {
  /** Sends head and body completely, then reads the response. */
  const sendThenRead = async (head: string, body: Buffer): Promise<string> => {
    const socket = connect(Number(new URL(harness.url).port), '127.0.0.1');
    socket.pause();
    try {
      const failed = once(socket, 'error').then(([error]) => Promise.reject(error));
      const sent = new Promise<void>((resolve) => {
        socket.write(Buffer.concat([Buffer.from(`${head}\r\nhost: x\r\n\r\n`), body]), () => resolve());
      });
      await Promise.race([sent, failed]);
      const [chunk] = await Promise.race([once(socket.resume(), 'data'), failed]);
      return String(chunk);
    } finally {
      socket.destroy();
    }
  };

  test.each([
    ['the service', '/api/v1/media', 403],
    ['the gateway', '/api/v1/posts', 413],
  ])(
    'a client that sends first and reads later receives the early response of %s',
    async (_who, path, status) => {
      harness.upstreams.media.handler = (_request, response) => response.writeHead(403).end();
      const size = 20 * MEBIBYTE;
      const head = `POST ${path} HTTP/1.1\r\ncontent-type: x/y\r\ncontent-length: ${size}`;
      expect(await sendThenRead(head, Buffer.alloc(size))).toMatch(`HTTP/1.1 ${status}`);
    },
  );

  test('a client that sends first and reads later receives the 413 of a chunked body', async () => {
    const head = 'POST /api/v1/posts HTTP/1.1\r\ncontent-type: x/y\r\ntransfer-encoding: chunked';
    const chunk = Buffer.concat([Buffer.from('100000\r\n'), Buffer.alloc(MEBIBYTE), Buffer.from('\r\n')]);
    const body = Buffer.concat([...Array<Buffer>(8).fill(chunk), Buffer.from('0\r\n\r\n')]);
    expect(await sendThenRead(head, body)).toMatch('HTTP/1.1 413');
  });
});

describe('a client that disconnects', () => {
  test('a client that disconnects during an upload aborts the request to the service', async () => {
    let aborted = false;
    harness.upstreams.media.handler = (request) => {
      request.resume();
      request.once('close', () => {
        aborted = !request.complete;
      });
    };
    const { port } = new URL(harness.url);
    const socket = connect(Number(port), '127.0.0.1');
    socket.write(
      'POST /api/v1/media HTTP/1.1\r\nhost: x\r\ncontent-type: multipart/form-data\r\ncontent-length: 100000\r\n\r\nabc',
    );
    await eventually(() => harness.upstreams.media.received.length === 1);
    socket.destroy();
    await eventually(() => aborted);
  });

  test('a client that disconnects before the response aborts the request to the service', async () => {
    let gone = false;
    harness.upstreams.content.handler = (request) => {
      request.socket.once('close', () => {
        gone = true;
      });
    };
    const leaving = new AbortController();
    const request = fetch(`${harness.url}/api/v1/posts`, { signal: leaving.signal });
    await eventually(() => harness.upstreams.content.received.length === 1);
    leaving.abort();
    await expect(request).rejects.toThrow();
    await eventually(() => gone);
  });
});
