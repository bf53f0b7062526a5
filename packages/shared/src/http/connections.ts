/**
 * The connections under a server: none is kept for ever, whatever its client does or leaves undone, and none keeps the
 * server from closing.
 */
import { randomUUID } from 'node:crypto';
import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { SECOND_MS } from '../clock.ts';
import { DEFAULT_LOCALE, translate } from '../i18n/translate.ts';

export interface ConnectionLimits {
  /** The headers of a request have arrived after this long. */
  headersMs: number;
  /** A request has arrived whole after this long, or it is refused; as long as a large file may take a phone. */
  requestMs: number;
  /** A connection on which nothing moves either way is given up: longer than any handler thinks. */
  stalledMs: number;
  /** How long a request that is under way keeps a closing server from its end. */
  closeGraceMs: number;
  /** How often the first two of these are looked at. */
  checkMs: number;
}

export const CONNECTION_LIMITS: ConnectionLimits = {
  headersMs: 60 * SECOND_MS,
  requestMs: 300 * SECOND_MS,
  stalledMs: 120 * SECOND_MS,
  closeGraceMs: 4 * SECOND_MS,
  checkMs: 30 * SECOND_MS,
};

/** Time for a client to read why it was refused, before its connection ends with whatever it still sends. */
const LINGER_MS = SECOND_MS;

const REFUSALS: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};

/** What is not HTTP never becomes a request; its answer has the form of all others. */
export const answerUnreadable = (error: { code?: string }, socket: Socket): void => {
  // Amid the answer to an earlier request, or behind one that is still to come, this one would be read as part of it.
  if (error.code === 'ECONNRESET' || !socket.writable || isAnswering(socket)) {
    socket.destroy();
    return;
  }
  const status = REFUSALS[error.code ?? ''] ?? '400 Bad Request';
  const body = JSON.stringify({ message: translate(DEFAULT_LOCALE, 'error.bad_request') });
  const headers = [
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    'x-content-type-options: nosniff',
    'referrer-policy: no-referrer',
    `x-request-id: ${randomUUID()}`,
    'connection: close',
  ];
  socket.end(`HTTP/1.1 ${status}\r\n${headers.join('\r\n')}\r\n\r\n${body}`);
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
};

const answering = new WeakMap<Socket, Set<ServerResponse>>();

const isAnswering = (socket: Socket): boolean =>
  [...(answering.get(socket) ?? [])].some((response) => response.headersSent);

/** Knows every connection of `app`, and ends them when it closes. */
export const endConnectionsWithServer = (app: FastifyInstance, closeGraceMs: number): void => {
  const server = app.server as Server;
  const open = new Set<Socket>();
  let closing = false;
  server.on('connection', (socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
  server.prependListener('request', ({ socket }, response) => {
    const responses = answering.get(socket) ?? new Set();
    answering.set(socket, responses.add(response));
    response.once('close', () => {
      responses.delete(response);
      // Its headers may have promised another request before anybody thought of closing.
      if (closing && responses.size === 0) socket.destroySoon();
    });
  });
  app.addHook('preClose', async () => {
    closing = true;
    for (const socket of open) {
      // Opened ahead of need: the platform counts it among those that are in use.
      if (socket.bytesRead === 0) socket.destroy();
    }
    setTimeout(() => {
      for (const socket of open) socket.destroy();
    }, closeGraceMs).unref();
  });
};
