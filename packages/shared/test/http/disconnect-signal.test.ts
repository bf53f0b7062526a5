import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fastify, { type FastifyInstance } from 'fastify';
import { disconnectSignal } from '../../src/http/disconnect-signal.ts';

let server: FastifyInstance;
let port = 0;
const signals: AbortSignal[] = [];
/** Resolved by a test to let the handler answer. */
let answer = Promise.withResolvers<void>();
let arrived = Promise.withResolvers<void>();

beforeAll(async () => {
  server = fastify();
  server.get('/', async (_request, reply) => {
    signals.push(disconnectSignal(reply));
    arrived.resolve();
    await answer.promise;
    return { done: true };
  });
  await server.listen({ host: '127.0.0.1', port: 0 });
  const address = server.server.address();
  port = typeof address === 'object' && address !== null ? address.port : 0;
});
afterAll(() => server.close());

test('the signal is aborted when the client goes before the response, and not after it', async () => {
  const socket = connect(port, '127.0.0.1');
  socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
  await arrived.promise;
  const [gone] = signals;
  expect(gone?.aborted).toBe(false);
  const aborted = gone && once(gone, 'abort');
  socket.destroy();
  await aborted;
  expect(gone?.aborted).toBe(true);
  answer.resolve();

  [answer, arrived] = [Promise.withResolvers(), Promise.withResolvers()];
  const request = fetch(`http://127.0.0.1:${port}/`);
  await arrived.promise;
  answer.resolve();
  expect(await (await request).json()).toEqual({ done: true });
  // A second request on the server: the first response has been closed.
  await fetch(`http://127.0.0.1:${port}/`);
  expect(signals.at(1)?.aborted).toBe(false);
});
