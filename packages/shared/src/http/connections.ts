/**
 * Limits on connections: no client can keep one open forever or delay the shutdown beyond its grace period.
 */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { SECOND_MS } from '../kernel/clock.ts';
import type { Health } from '../kernel/health.ts';
import type { MessageKey } from '../kernel/i18n/catalogue.ts';
import { DEFAULT_LOCALE, translate } from '../kernel/i18n/translate.ts';

export interface ConnectionLimits {
  /** Time for the headers of a request to arrive. */
  headersMs: number;
  /** Time for a whole request to arrive: long enough for a phone that uploads a large file. */
  requestMs: number;
  /** A connection without traffic is closed after this; longer than any handler takes. */
  stalledMs: number;
  /** How long closing waits for current requests. */
  closeGraceMs: number;
  /** How often the first two limits are checked. */
  checkMs: number;
}

export const CONNECTION_LIMITS: ConnectionLimits = {
  headersMs: 60 * SECOND_MS,
  requestMs: 300 * SECOND_MS,
  stalledMs: 120 * SECOND_MS,
  closeGraceMs: 4 * SECOND_MS,
  checkMs: 30 * SECOND_MS,
};

/** Time for the first request on a connection that was accepted just before the server closes. */
const UNUSED_MS = SECOND_MS / 2;
/** Time for a client to read the error before its connection is closed. */
const LINGER_MS = SECOND_MS;

type Refusal = readonly [status: string, key: MessageKey];
const BAD_REQUEST: Refusal = ['400 Bad Request', 'error.bad_request'];
const NOT_IMPLEMENTED: Refusal = ['501 Not Implemented', 'error.transfer_encoding'];
/** Node's reason for an unknown coding. Without this reason, the same error concerns a known coding. */
const UNKNOWN_CODING = 'Request has invalid `Transfer-Encoding`';
const REFUSALS: Readonly<Record<string, Refusal>> = {
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', 'error.bad_request'],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'error.request_timeout'],
};

/** Responds to a request that Node could not parse or that took too long, with the usual error body. */
export const answerUnreadable = (error: { code?: string; reason?: string }, socket: Socket): void => {
  // While another response of this connection is being sent, the client would read this one as a part of it.
  if (error.code === 'ECONNRESET' || !socket.writable || isAnswering(socket)) {
    socket.destroy();
    return;
  }
  const refusal = error.reason === UNKNOWN_CODING ? NOT_IMPLEMENTED : REFUSALS[error.code ?? ''];
  const [status, key] = refusal ?? BAD_REQUEST;
  const body = JSON.stringify({ message: translate(DEFAULT_LOCALE, key) });
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

/** Closes the connections of `app`: with their next response while the process stops, and the rest when `app` closes. */
export const endConnectionsWithServer = (
  app: FastifyInstance,
  closeGraceMs: number,
  health: Pick<Health, 'onStopping'>,
): void => {
  const server = app.server as Server;
  const open = new Set<Socket>();
  let stopping = false;
  let closing = false;
  health.onStopping(() => {
    stopping = true;
    for (const socket of open) {
      for (const response of answering.get(socket) ?? []) endWith(response);
    }
  });
  server.on('connection', (socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
  server.prependListener('request', ({ socket }, response) => {
    const responses = answering.get(socket) ?? new Set();
    answering.set(socket, responses.add(response));
    if (stopping) endWith(response);
    response.once('close', () => {
      responses.delete(response);
      // Its response headers may have announced keep-alive before the shutdown began.
      if (closing && responses.size === 0) socket.destroySoon();
    });
  });
  app.addHook('preClose', async () => {
    closing = true;
    setTimeout(() => {
      for (const socket of open) {
        // A connection without a request is active for Node.
        if (socket.bytesRead === 0) socket.destroy();
      }
    }, UNUSED_MS).unref();
    setTimeout(() => {
      for (const socket of open) socket.destroy();
    }, closeGraceMs).unref();
  });
};

const endWith = (response: ServerResponse): void => {
  if (!response.headersSent) response.setHeader('connection', 'close');
};

export const isBodyMissing = ({ headers }: Pick<IncomingMessage, 'headers'>): boolean =>
  headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0;

const CONTINUE = /(?:^|\W)100-continue(?:$|\W)/i;

/** Sends `100 Continue` (RFC 9110, 10.1.1) only when the body is read: a refused client never sends its body. */
export const continueBeforeBody = (app: FastifyInstance): void => {
  app.server.on('checkContinue', (request, response) => app.server.emit('request', request, response));
  app.addHook('preParsing', ({ raw, headers }, reply, _payload, done) => {
    // An HTTP/1.0 client does not understand this response.
    const expectsContinue =
      headers.expect !== undefined && CONTINUE.test(headers.expect) && raw.httpVersion !== '1.0';
    if (expectsContinue && !raw.complete) reply.raw.writeContinue();
    done();
  });
};

/** After a response to the headers alone, a client that is quiet for this long has its response or sends no more. */
const QUIET_MS = SECOND_MS / 2;
const DRAIN_IDLE_MS = 5 * SECOND_MS;
const DRAIN_MS = 30 * SECOND_MS;

/** Connections that end with a response that is being sent. */
const ending = new WeakSet<Socket>();

/**
 * Whether `request` is answered without its body. Its connection then ends with the response, which must say so
 * (`Connection: close`). Further data is never read as another request. It is dropped for a while, because a client
 * that is still sending would lose the response with the connection.
 */
export const endsUnread = (request: IncomingMessage): boolean => {
  const { socket } = request;
  // While its headers are handled, even a request without a body is not complete yet.
  if (request.complete || request.readableFlowing !== null || isBodyMissing(request)) return false;
  ending.add(socket);
  // Node calls it after the last response of a connection.
  socket.destroySoon = () => drain(socket);
  return true;
};

/** Requests that Node has parsed after such a request are not answered and have no effect (RFC 9112, 9.6). */
export const ignoreAfterEnd = (app: FastifyInstance): void => {
  app.addHook('onRequest', ({ raw }, reply, done) => {
    if (ending.has(raw.socket)) reply.hijack();
    else done();
  });
};

const drain = (socket: Socket): void => {
  const close = (): unknown => socket.destroy();
  const quiet = setTimeout(() => socket.end(), QUIET_MS).unref();
  const idle = setTimeout(close, DRAIN_IDLE_MS).unref();
  const limit = setTimeout(close, DRAIN_MS).unref();
  const onData = (): void => {
    if (!socket.writableEnded) quiet.refresh();
    idle.refresh();
  };
  socket.once('end', close);
  socket.once('close', () => {
    for (const timer of [quiet, idle, limit]) clearTimeout(timer);
  });
  // Replaces the request parser. A connection that the parser has paused can be resumed only while it is attached.
  const detach = (): unknown => socket.removeAllListeners('data').on('data', onData);
  if (socket.isPaused()) socket.once('resume', detach).resume();
  else detach();
};
