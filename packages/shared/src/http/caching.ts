/** HTTP caching (RFC 9111) of what the API answers to reads; docs/adr/0071. */
import { hash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../kernel/caller.ts';
import type { Route } from './define-route.ts';

/** On which headers of a request the answer to it depends. */
export const VARY = 'Authorization, Accept-Encoding, Accept-Language, Origin';
/** A cache stores it, and asks before every use. */
const PRIVATE = 'private, no-cache';
/** For guests, on routes with `guestCache`. */
export const PUBLIC = 'public, max-age=1, stale-while-revalidate=5';

/** A GET that answers JSON. One that may redirect instead is a callback, which has an effect. */
export const isRead = ({ method, produces, responses }: Route): boolean =>
  method === 'GET' && produces === undefined && responses[200] != null && responses[302] === undefined;

/** Weak: it names the content, and is no promise about ranges of bytes. */
export const etagOf = (text: string | Buffer): string => `W/"${hash('sha1', text, 'base64url')}"`;

/** Whether an `If-None-Match` names `etag`, by weak comparison (RFC 9110, 13.1.2). */
const isNamed = (header: string | undefined, etag: string): boolean => {
  if (header === undefined) return false;
  if (header === etag || header.trim() === '*') return true;
  const opaque = etag.slice(etag.indexOf('"'));
  return [...header.matchAll(/"[^"]*"/g)].some(([tag]) => tag === opaque);
};

export const cacheControlOf = ({ guestCache = false }: Route, caller: Caller): string =>
  guestCache && caller.kind === 'guest' ? PUBLIC : PRIVATE;

/** Adds the headers for caches to a successful read; true when the client has this content: its answer is 304. */
export const addEtag = (
  cacheControl: string,
  etag: string,
  request: FastifyRequest,
  reply: FastifyReply,
): boolean => {
  reply.header('etag', etag).header('cache-control', cacheControl);
  return isNamed(request.headers['if-none-match'], etag);
};
