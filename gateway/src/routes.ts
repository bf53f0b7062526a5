/**
 * Which service answers which path. Only what stands in this table is ever forwarded, so the insides of a service
 * (`/internal`, `/health`, `/metrics`) cannot be named from outside.
 */
import { API_PREFIX } from '@fitness/shared/http/server.ts';

export const OAUTH_PREFIX = '/oauth';

export const SERVICES = ['identity', 'wallet', 'gyms', 'content', 'media', 'store-billing'] as const;
export type Service = (typeof SERVICES)[number];

/** Below the API's prefix; the first row that a path begins with, segment by segment, wins. */
const TABLE: readonly (readonly [prefix: string, service: Service])[] = [
  ['/auth', 'identity'],
  ['/users', 'identity'],
  ['/roles', 'identity'],
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
  ...TABLE.map(([prefix, service]) => ({ segments: `${API_PREFIX}${prefix}`.split('/'), service })),
  // The authorization server, which is no part of the API and asks its callers for no token.
  { segments: OAUTH_PREFIX.split('/'), service: 'identity' as const },
];

export interface Target {
  service: Service;
  /** Decoded, checked and encoded anew; begins with the API's prefix, or that of OAuth. */
  path: string;
  /** With its question mark, as it was sent; empty without one. */
  query: string;
}

/** An absolute form (`GET http://host/path`) names the same path as the usual one. */
const ABSOLUTE_FORM = /^https?:\/\/[^/?#]*/i;

/** What would be read as more, or less, than one segment by whoever decodes it next. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const UNSAFE_SEGMENT = /^\.$|^\.\.|\.\.$|[/\\\u0000-\u001f\u007f]/;

const decodeSegment = (segment: string): string | undefined => {
  try {
    const decoded = decodeURIComponent(segment);
    return UNSAFE_SEGMENT.test(decoded) ? undefined : decoded;
  } catch {
    return undefined;
  }
};

/**
 * The service that answers the request target `url`, undefined for nobody. Decoded once and matched decoded; a path
 * with dot segments, empty segments or encoded slashes is nobody's instead of being cleaned, because two readers
 * would not clean it alike.
 */
export const findTarget = (url: string): Target | undefined => {
  const target = url.replace(ABSOLUTE_FORM, '');
  const queryAt = target.indexOf('?');
  const rawPath = queryAt < 0 ? target : target.slice(0, queryAt);
  const [beforeFirstSlash, ...rawSegments] = rawPath.split('/');
  if (beforeFirstSlash !== '') return undefined;
  // One slash at the end says nothing.
  if (rawSegments.at(-1) === '') rawSegments.pop();
  const decoded = rawSegments.map(decodeSegment);
  if (decoded.some((segment) => segment === undefined || segment === '')) return undefined;
  const segments = ['', ...(decoded as string[])];
  const route = ROUTES.find((candidate) =>
    candidate.segments.every((part, index) => part === segments[index]),
  );
  if (route === undefined) return undefined;
  return {
    service: route.service,
    path: segments.map(encodeURIComponent).join('/'),
    query: queryAt < 0 ? '' : target.slice(queryAt),
  };
};
