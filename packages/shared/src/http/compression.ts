/**
 * Compression of responses to reads (RFC 9110, 8.4). Other responses are not compressed, because they may contain tokens or codes:
 * the length of a compressed response reveals something about its content.
 */
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { FastifyReply } from 'fastify';
import Negotiator from 'negotiator';

export type Coding = 'br' | 'gzip' | 'identity';

/** A shorter response fits into one packet without compression. */
const LEAST_BYTES = 1_024;
const CODINGS = ['br', 'gzip', 'identity'];
/** The quality of Brotli at which it is as fast as gzip, and smaller. */
const FAST = 4;
const SMALL = 9;

const gzipped = promisify(gzip);
const brotli = promisify(brotliCompress);

/** A longer header is ignored, because its evaluation would take more time than the request. */
const HEADER_MAX = 200;

/** The coding that the client prefers, or names first, for a text of this length. */
export const codingOf = (acceptEncoding: string | undefined, bytes: number): Coding => {
  if (acceptEncoding === undefined || acceptEncoding.length > HEADER_MAX || bytes < LEAST_BYTES)
    return 'identity';
  const negotiator = new Negotiator({ headers: { 'accept-encoding': acceptEncoding } });
  return (negotiator.encoding(CODINGS) ?? 'identity') as Coding;
};

const encode = async (text: Buffer, coding: Coding, quality: number): Promise<Buffer> => {
  if (coding === 'identity') return text;
  if (coding === 'gzip') return gzipped(text);
  return brotli(text, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: quality,
      [constants.BROTLI_PARAM_SIZE_HINT]: text.length,
    },
  });
};

/** The ETag of a text in this coding. Codings have different ETags: a cache must not confuse them. */
export const etagIn = (coding: Coding, etag: string): string =>
  coding === 'identity' ? etag : etag.replace(/"$/, `-${coding}"`);

export const sendIn = async (coding: Coding, text: Buffer, reply: FastifyReply): Promise<FastifyReply> => {
  if (coding !== 'identity') reply.header('content-encoding', coding);
  return reply.send(await encode(text, coding, FAST));
};

/** Encodes a frequently sent text: each coding is made once, at its first use. */
export const encodedOnce = (text: Buffer) => {
  const made = new Map<Coding, Promise<Buffer>>();
  return async (coding: Coding, reply: FastifyReply): Promise<FastifyReply> => {
    const bytes = made.get(coding) ?? encode(text, coding, SMALL);
    made.set(coding, bytes);
    if (coding !== 'identity') reply.header('content-encoding', coding);
    return reply.send(await bytes);
  };
};
