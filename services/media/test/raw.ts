/** Raw HTTP requests, for input that client libraries do not send. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { Caller } from '@fitness/shared/kernel/caller.ts';
import { CALLER_HEADER } from '@fitness/shared/process-identity/caller-context.ts';
import { gatewayContext } from '@fitness/shared/testing/harness.ts';

export interface RawAnswer {
  status: number;
  /** Names in lower case. */
  headers: Record<string, string>;
  body: Buffer;
}

export type Piece = string | Buffer;

export interface RawRequest {
  as: Caller;
  method?: string;
  path?: string;
  /** Lines without line ends, in addition to Host and the caller's context. */
  headers?: readonly string[];
  body?: readonly Piece[];
}

export const bytesOf = (pieces: readonly Piece[]): Buffer =>
  Buffer.concat(pieces.map((piece) => (typeof piece === 'string' ? Buffer.from(piece) : piece)));

/** Sends the head of a request and the first part of its body, and returns the open connection. */
export const openRaw = async (
  url: string,
  { as, method = 'POST', path = '/api/v1/media', headers = [], body = [] }: RawRequest,
): Promise<Socket> => {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  // A write after the server closed the connection is no failure, because tests assert the response.
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  const context = gatewayContext('media', as);
  const lines = [`${method} ${path} HTTP/1.1`, 'host: media', `${CALLER_HEADER}: ${context}`, ...headers];
  socket.write(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`), bytesOf(body)]));
  return socket;
};

const BLANK_LINE = '\r\n\r\n';

/** Reads the first complete response. Rejects when the server closes the connection or `timeoutMs` pass before it. */
export const readAnswer = async (
  socket: Socket,
  { timeoutMs = 15_000, withoutBody = false } = {},
): Promise<RawAnswer> => {
  const giveUp = setTimeout(() => socket.destroy(new Error('no complete response in time')), timeoutMs);
  let received: Buffer = Buffer.alloc(0);
  try {
    for await (const piece of socket.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      received = Buffer.concat([received, piece]);
      const answer = parse(received, withoutBody);
      if (answer !== undefined) return answer;
    }
  } finally {
    clearTimeout(giveUp);
  }
  throw new Error(
    `the server closed the connection after ${JSON.stringify(received.toString('latin1', 0, 200))}`,
  );
};

const parse = (received: Buffer, withoutBody: boolean): RawAnswer | undefined => {
  const end = received.indexOf(BLANK_LINE);
  if (end === -1) return undefined;
  const [statusLine = '', ...lines] = received.toString('latin1', 0, end).split('\r\n');
  const status = Number(statusLine.split(' ')[1]);
  const rest = received.subarray(end + BLANK_LINE.length);
  if (status === 100) return parse(rest, withoutBody);
  const headers = Object.fromEntries(
    lines.map((line) => [
      line.slice(0, line.indexOf(':')).toLowerCase(),
      line.slice(line.indexOf(':') + 1).trim(),
    ]),
  );
  if (withoutBody || status === 304 || status === 204) return { status, headers, body: rest };
  if (headers['transfer-encoding'] === 'chunked') {
    const body = unchunk(rest);
    return body && { status, headers, body };
  }
  const length = Number(headers['content-length'] ?? 0);
  return rest.length < length ? undefined : { status, headers, body: rest.subarray(0, length) };
};

const unchunk = (bytes: Buffer): Buffer | undefined => {
  const chunks: Buffer[] = [];
  for (let at = 0; ; ) {
    const lineEnd = bytes.indexOf('\r\n', at);
    if (lineEnd === -1) return undefined;
    const length = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16);
    const from = lineEnd + 2;
    if (bytes.length < from + length + 2) return undefined;
    if (length === 0) return Buffer.concat(chunks);
    chunks.push(bytes.subarray(from, from + length));
    at = from + length + 2;
  }
};

/** Sends a request, reads the response and closes the connection. */
export const sendRaw = async (url: string, request: RawRequest): Promise<RawAnswer> => {
  const socket = await openRaw(url, request);
  try {
    return await readAnswer(socket, { withoutBody: request.method === 'HEAD' });
  } finally {
    socket.destroy();
  }
};
