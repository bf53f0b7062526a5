/** HTTP caching (RFC 9111) of responses to reads; see docs/adr/0071. */
import { hash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../kernel/caller.ts';
import type { Route } from './define-route.ts';

/** The request headers on which a response depends. */
export const VARY = 'Authorization, Accept-Encoding, Accept-Language, Origin';
/** A cache may store the response, but must revalidate it before every use. */
const PRIVATE = 'private, no-cache';
/** For responses to guests on routes with `guestCache`. */
export const PUBLIC = 'public, max-age=1, stale-while-revalidate=5';

/** Whether a route is a GET with a JSON response. A GET that may redirect is a callback, which has an effect. */
export const isRead = ({ method, produces, responses }: Route): boolean =>
  method === 'GET' && produces === undefined && responses[200] != null && responses[302] === undefined;

/** A weak ETag: it identifies the content, but promises nothing about byte ranges. */
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

/** Adds the caching headers to a successful read. True when the client has this content already: the response is 304. */
export const addEtag = (
  cacheControl: string,
  etag: string,
  request: FastifyRequest,
  reply: FastifyReply,
): boolean => {
  reply.header('etag', etag).header('cache-control', cacheControl);
  return isNamed(request.headers['if-none-match'], etag);
};
