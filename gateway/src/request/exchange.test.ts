import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, get, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import Fastify from 'fastify';
import { Agent } from 'undici';
import { createDownloadConnect, PIECE_BYTES } from './connect.ts';
import { startExchange } from './exchange.ts';

/** Random, so that no two pieces are equal. */
const content = randomBytes(12 * 1024 * 1024);
const service = createServer((_request, response) => {
  response.writeHead(200, { 'content-length': content.length }).end(content);
});
/** Uses the write buffer size of the product's servers, which limits the bytes waiting for a slow client. */
const app = Fastify({ http: { highWaterMark: PIECE_BYTES } });
let agent: Agent;
let url: string;
let client: ServerResponse;
/** All pieces written to the client's response, including those that the exchange has released. */
let pieces: () => Buffer[];

beforeAll(async () => {
  service.listen(0, '127.0.0.1');
  await once(service, 'listening');
  const origin = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
  agent = new Agent({ connect: createDownloadConnect({ tls: undefined, timeoutMs: 3_000 }) });
  app.get('/', (_request, reply) => {
    client = reply.raw;
    const { calls } = jest.spyOn(client, 'write').mock;
    pieces = () => calls.map(([piece]) => piece as Buffer);
    startExchange({
      reply,
      agent,
      request: { origin, path: '/', method: 'GET' },
      beginAnswer: (_status, headers) => headers,
      onLost: (error) => reply.send(error),
    });
  });
  url = await app.listen({ port: 0, host: '127.0.0.1' });
});
afterAll(async () => {
  await agent.destroy();
  await app.close();
  service.closeAllConnections();
  service.close();
});

const open = async (): Promise<IncomingMessage> => {
  const request = get(url, { agent: false });
  const [answer] = (await once(request, 'response')) as [IncomingMessage];
  return answer;
};
const inMemory = (): number => pieces().reduce((sum, { length }) => sum + length, 0);
/** The first piece contains the head of the service's response, and is left to the garbage collector. */
const MOST_IN_MEMORY = 4 * PIECE_BYTES;

test('pieces that a fast client has received are released from memory', async () => {
  expect((await buffer(await open())).equals(content)).toBe(true);
  expect(pieces().length).toBeGreaterThan(100);
  expect(inMemory()).toBeLessThan(MOST_IN_MEMORY);
});

test('a paused client leaves few pieces in memory and still receives the whole response', async () => {
  const answer = await open();
  for (let before = -1; before < pieces().length; ) {
    before = pieces().length;
    await pause(100);
  }
  expect(client.writableLength).toBeGreaterThan(0);
  expect(inMemory()).toBeLessThan(MOST_IN_MEMORY);
  expect((await buffer(answer)).equals(content)).toBe(true);
  expect(inMemory()).toBeLessThan(MOST_IN_MEMORY);
});
