/**
 * The routing table. Only paths in this table are forwarded. Clients therefore cannot reach the internal paths of a service
 * (`/internal`, `/health`, `/metrics`).
 */
import { API_PREFIX } from '@fitness/shared/http/gateway-protocol.ts';

export const OAUTH_PREFIX = '/oauth';

export const SERVICES = ['identity', 'wallet', 'gyms', 'content', 'media', 'store-billing'] as const;
export type Service = (typeof SERVICES)[number];

/** Prefixes below the API's prefix, compared by segments. The first match wins. */
const TABLE: readonly (readonly [prefix: string, service: Service])[] = [
  ['/auth', 'identity'],
  ['/users', 'identity'],
  ['/roles', 'identity'],
  ['/audit-log', 'identity'],
  ['/notifications', 'identity'],
  ['/payments/store-purchases', 'store-billing'],
  ['/payments/buy-premium', 'store-billing'],
  ['/payments/boost', 'store-billing'],
  ['/payments', 'wallet'],
  ['/gyms', 'gyms'],
  ['/cities', 'gyms'],
  ['/majors', 'gyms'],
  ['/posts', 'content'],
  ['/training-services', 'content'],
  ['/trainees', 'content'],
  ['/media', 'media'],
];

const ROUTES = [
  ...TABLE.map(([prefix, service]) => ({ prefix: `${API_PREFIX}${prefix}`, service })),
  // The authorization server is outside the API and takes no tokens.
  { prefix: OAUTH_PREFIX, service: 'identity' as const },
];

export interface Target {
  service: Service;
  /** Decoded, checked and re-encoded; begins with the prefix of the API or of OAuth. */
  path: string;
  /** The query as received, with the question mark; empty without a query. */
  query: string;
}

/** The absolute form of a request target (`GET http://host/path`) has the same path as the origin form. */
const ABSOLUTE_FORM = /^https?:\/\/[^/?#]*/i;

/** Segments that could become several segments if a service decoded them again. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern looks for control characters
const UNSAFE_SEGMENT = /^\.$|^\.\.|\.\.$|[/\\\u0000-\u001f\u007f]/;

/** A path that decoding and re-encoding does not change, like most paths. */
const PLAIN_PATH = /^(?:\/[\w~-]+)+$/;

const decodeSegment = (segment: string): string | undefined => {
  try {
    const decoded = decodeURIComponent(segment);
    return UNSAFE_SEGMENT.test(decoded) ? undefined : decoded;
  } catch {
    return undefined;
  }
};

/**
 * The service for the request target `url`; undefined if there is none. The path is decoded once and matched decoded. A path
 * with dot segments, empty segments or encoded slashes is rejected: the gateway and a service could normalize it differently.
 */
export const findTarget = (url: string): Target | undefined => {
  const target = url.startsWith('/') ? url : url.replace(ABSOLUTE_FORM, '');
  const queryAt = target.indexOf('?');
  const rawPath = queryAt < 0 ? target : target.slice(0, queryAt);
  const path = PLAIN_PATH.test(rawPath) ? rawPath : encodeAgain(rawPath);
  if (path === undefined) return undefined;
  const route = ROUTES.find(
    ({ prefix }) => path.startsWith(prefix) && (path.length === prefix.length || path[prefix.length] === '/'),
  );
  if (route === undefined) return undefined;
  return { service: route.service, path, query: queryAt < 0 ? '' : target.slice(queryAt) };
};

/** Undefined for a path that is rejected. */
const encodeAgain = (rawPath: string): string | undefined => {
  const [beforeFirstSlash, ...rawSegments] = rawPath.split('/');
  if (beforeFirstSlash !== '') return undefined;
  // One trailing slash is ignored.
  if (rawSegments.at(-1) === '') rawSegments.pop();
  const decoded = rawSegments.map(decodeSegment);
  if (decoded.some((segment) => segment === undefined || segment === '')) return undefined;
  return ['', ...(decoded as string[])].map(encodeURIComponent).join('/');
};

/** Files have separate kinds, because they are streamed at the speed of the client. */
type Transfer = 'ordinary' | 'uploads' | 'downloads';

export const transferOf = ({ service }: Target, method: string): Transfer => {
  if (service !== 'media') return 'ordinary';
  if (method === 'POST') return 'uploads';
  return method === 'GET' || method === 'HEAD' ? 'downloads' : 'ordinary';
};
