import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Agent, type Dispatcher } from 'undici';
import { createDownloadConnect, PIECE_BYTES } from './connect.ts';

const content = Buffer.alloc(3 * 1024 * 1024 + 5, 'the bytes of a file');
const server = createServer((_request, response) => response.end(content));
let origin: string;
let agent: Agent;

beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  agent = new Agent({ connect: createDownloadConnect({ tls: undefined, timeoutMs: 3_000 }) });
});
afterAll(async () => {
  await agent.destroy();
  server.closeAllConnections();
  server.close();
});

/** Pauses after each piece, like an exchange with a slow client. */
const download = (): Promise<Buffer[]> =>
  new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    const handler: Dispatcher.DispatchHandler = {
      onRequestStart: () => undefined,
      onResponseStart: () => undefined,
      onResponseData: (controller, piece) => {
        pieces.push(piece);
        controller.pause();
        setImmediate(() => controller.resume());
      },
      onResponseEnd: () => resolve(pieces),
      onResponseError: (_controller, error) => reject(error),
    };
    agent.dispatch({ origin, path: '/', method: 'GET' }, handler);
  });

test('concurrent downloads arrive complete, in pieces of a limited size', async () => {
  const downloads = await Promise.all(Array.from({ length: 5 }, download));
  // A later download reuses one of the connections.
  downloads.push(await download());
  for (const pieces of downloads) {
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThanOrEqual(PIECE_BYTES);
    expect(Buffer.concat(pieces).equals(content)).toBe(true);
  }
});
