/** HTTP servers that take the place of a store and behave as a test specifies. */
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

export type Behavior = (response: ServerResponse, socket: Socket) => void;

export const say =
  (status: number, body: string, headers: Record<string, string> = {}): Behavior =>
  (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(body);
  };

export const silence: Behavior = () => undefined;

/** The beginning of a purchase, then a byte every 20 ms without end. */
export const drip: Behavior = (response) => {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.write('{"purchaseState":0,');
  const timer = setInterval(() => response.write(' '), 20);
  response.once('close', () => clearInterval(timer));
};

/** A purchase, then spaces until the client closes the connection. */
export const flood: Behavior = (response) => {
  const chunk = ' '.repeat(64 * 1024);
  response.writeHead(200, { 'content-type': 'application/json' });
  response.write('{"purchaseState":0,"consumptionState":1}');
  const pour = (): void => {
    while (!response.destroyed && response.write(chunk));
  };
  response.on('drain', pour);
  pour();
};

/** A server with this behavior, except that Google's token endpoint always returns a token. */
export const storeThat = async (behave: Behavior): Promise<{ url: string; close(): Promise<void> }> => {
  const server: Server = createServer((request, response) => {
    request.resume();
    if (request.url === '/google-play/token')
      say(200, JSON.stringify({ access_token: 't', expires_in: 3_599 }))(response, request.socket);
    else behave(response, request.socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
};
