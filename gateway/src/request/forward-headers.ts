/** The headers that the gateway sends to the services, and those of their responses that reach the client. */
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http';
import { OAUTH_COOKIE } from '@fitness/contracts/oauth.ts';
import { endsUnread } from '@fitness/shared/http/connections.ts';
import {
  CLIENT_ADDRESS_HEADER,
  LIMIT_COUNTED_HEADER,
  REQUEST_TIMEOUT_HEADER,
} from '@fitness/shared/http/gateway-protocol.ts';
import { CALLER_HEADER } from '@fitness/shared/process-identity/caller-context.ts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { varying } from './cors.ts';
import { type Forward, isOauth, WITHOUT_BODY } from './prepare-forward.ts';

/** RFC 9110 requires `WWW-Authenticate` in every 401, including those of services. */
export const CHALLENGE = 'Bearer';
/** The type of a body whose own type is missing or no media type. */
export const UNKNOWN_TYPE = 'application/octet-stream';

/** The only client headers that are forwarded. */
const REQUEST_HEADERS = [
  'accept',
  'accept-encoding',
  'accept-language',
  'idempotency-key',
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-range',
  'if-unmodified-since',
  'range',
  'traceparent',
  'user-agent',
] as const;
/** Required by the pages of the authorization server for their session and CSRF checks, besides their cookies. */
const PAGE_HEADERS = ['origin', 'sec-fetch-site'] as const;
const OAUTH_COOKIES = new RegExp(`(?<=^|; *)(?:__Secure-)?${OAUTH_COOKIE}_[^;]*`, 'g');
const BODY_HEADERS = ['content-encoding', 'content-language'] as const;

/** Hop-by-hop headers (RFC 9110, 7.6.1), headers of the server software, and headers that the gateway sets. */
const HIDDEN_RESPONSE_HEADERS = new Set([
  'connection',
  'date',
  'keep-alive',
  'proxy-authenticate',
  'proxy-connection',
  'referrer-policy',
  'server',
  'te',
  'traceparent',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'x-content-type-options',
  'x-powered-by',
  'x-request-id',
  CALLER_HEADER,
  CLIENT_ADDRESS_HEADER,
]);

/** The gateway alone decides which origins may read a response. */
const HIDDEN_RESPONSE_PREFIXES = ['x-internal-', 'access-control-'];

/** Headers in undici's form: alternating names and values. */
export const requestHeaders = (request: FastifyRequest, hasWholeBody: boolean): string[] => {
  const forwarded = headersWithoutBody(request);
  if (!WITHOUT_BODY.has(request.method)) forwarded.push(...bodyHeaders(request.headers, hasWholeBody));
  return forwarded;
};

export const headersWithoutBody = (request: FastifyRequest): string[] => {
  const { headers, forward } = request;
  const forwarded = pickHeaders(headers, REQUEST_HEADERS);
  if (isOauth(forward.target)) {
    // The cookies of other pages have the path /, and one of them is the session of an operator.
    const cookies = headers.cookie?.match(OAUTH_COOKIES);
    if (cookies) forwarded.push('cookie', cookies.join('; '));
    forwarded.push(...pickHeaders(headers, PAGE_HEADERS));
  }
  if (headers.host !== undefined) forwarded.push('host', headers.host);
  for (const [name, value] of Object.entries(internalHeaders(request.id, forward))) {
    forwarded.push(name, value);
  }
  return forwarded;
};

const pickHeaders = (headers: IncomingHttpHeaders, names: readonly string[]): string[] => {
  const picked: string[] = [];
  for (const name of names) {
    const value = headers[name];
    if (typeof value === 'string') picked.push(name, value);
  }
  return picked;
};

/** The length of a body that the gateway has read is set from its bytes. */
const bodyHeaders = (headers: IncomingHttpHeaders, hasWholeBody: boolean): string[] => {
  if (!hasWholeBody) return pickHeaders(headers, [...BODY_HEADERS, 'content-length', 'content-type']);
  return [...pickHeaders(headers, BODY_HEADERS), 'content-type', headers['content-type'] ?? UNKNOWN_TYPE];
};

/** Headers that the services trust. The gateway never forwards them from outside. */
export const internalHeaders = (
  requestId: string,
  { clientAddress, context, timeoutMs, isChecked }: Forward,
): Record<string, string> => ({
  'x-request-id': requestId,
  [CLIENT_ADDRESS_HEADER]: clientAddress,
  [CALLER_HEADER]: context,
  [REQUEST_TIMEOUT_HEADER]: String(timeoutMs),
  ...(isChecked === true ? { [LIMIT_COUNTED_HEADER]: '1' } : {}),
});

/** Headers of the gateway, and the service's headers for the client. */
export const answerHeaders = (
  reply: FastifyReply,
  status: number,
  headers: IncomingHttpHeaders,
): OutgoingHttpHeaders => {
  const answer = reply.getHeaders() as OutgoingHttpHeaders;
  const hopByHop = namesIn(headers.connection);
  for (const [name, value] of Object.entries(headers)) {
    if (isHidden(name) || hopByHop?.includes(name) === true) continue;
    answer[name] = name === 'vary' ? varying(String(value), answer.vary) : value;
  }
  if (status === 401) answer['www-authenticate'] ??= CHALLENGE;
  if (endsUnread(reply.request.raw)) answer.connection = 'close';
  return answer;
};

const isHidden = (name: string): boolean =>
  HIDDEN_RESPONSE_HEADERS.has(name) || HIDDEN_RESPONSE_PREFIXES.some((prefix) => name.startsWith(prefix));

const namesIn = (connection: string | undefined): string[] | undefined =>
  connection === undefined || connection === 'keep-alive'
    ? undefined
    : connection
        .toLowerCase()
        .split(',')
        .map((name) => name.trim());
