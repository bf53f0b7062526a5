/** Checks of the head of a request that HTTP requires and Node does not make (RFC 9110, RFC 9112). */
import type { IncomingMessage } from 'node:http';
import { isIPv6 } from 'node:net';
import { AppError, badRequest, message } from '../kernel/error.ts';

/** The `reg-name` of RFC 3986, 3.2.2, which includes IPv4 addresses, or an address in brackets; then a port. */
const HOST = /^(?:(?:[\w.~!$&'()*+,;=-]|%[\da-f]{2})+|\[([\da-f:.]+)\])(?::(\d{0,5}))?$/i;
const MAX_PORT = 65_535;

const isHost = (text: string): boolean => {
  const match = HOST.exec(text);
  if (match === null) return false;
  const [, address, port = ''] = match;
  return (address === undefined || isIPv6(address)) && Number(port) <= MAX_PORT;
};

/** Reads the alternating names and values, because Node keeps only the first `Host`. */
const isHostRepeated = ({ rawHeaders }: IncomingMessage): boolean =>
  rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === 'host').length > 1;

/** The 400 for a request without exactly one valid `Host` (RFC 9112, 3.2). HTTP/1.0 does not require one. */
export const hostProblem = (request: IncomingMessage): AppError | undefined => {
  const { host } = request.headers;
  const isValid = host === undefined ? request.httpVersion === '1.0' : isHost(host);
  return isValid && !isHostRepeated(request)
    ? undefined
    : badRequest('bad_request', message('error.invalid_host'));
};

/** The 501 for a transfer coding that Node does not decode, such as `gzip, chunked` (RFC 9112, 6.1). */
export const transferProblem = ({ headers }: IncomingMessage): AppError | undefined => {
  const coding = headers['transfer-encoding'];
  if (coding === undefined || coding.toLowerCase() === 'chunked') return undefined;
  return new AppError({
    kind: 'not_implemented',
    code: 'not_implemented',
    message: message('error.transfer_encoding'),
    // The end of its body cannot be found with certainty.
    headers: { connection: 'close' },
  });
};

/** The 415 for a body in a coding other than `identity` (RFC 9110, 15.5.16). */
export const contentCodingProblem = ({ headers }: IncomingMessage): AppError | undefined => {
  const codings = headers['content-encoding']?.toLowerCase().split(',') ?? [];
  if (codings.every((coding) => ['', 'identity'].includes(coding.trim()))) return undefined;
  return new AppError({
    kind: 'unsupported_media_type',
    code: 'unsupported_content_encoding',
    message: message('error.content_encoding'),
    headers: { 'accept-encoding': 'identity' },
  });
};
