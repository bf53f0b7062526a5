/** OAuth constants of identity, which issues tokens, and the gateway, which publishes the metadata. */
import { DELEGABLE_PERMISSIONS, isPermission, type Permission } from '@fitness/shared/kernel/permissions.ts';

/** The OAuth scopes: the permissions that a user can delegate to a third party. */
export const OAUTH_SCOPES = DELEGABLE_PERMISSIONS;

export const isOauthScope = (value: string): value is Permission =>
  isPermission(value) && OAUTH_SCOPES.includes(value);

/** Read-only scopes: those of the `/mcp` tools, and the default of a request without `scope`. */
export const READING_SCOPES: readonly Permission[] = [
  'users.view_limited',
  'posts.view',
  'payments.view_own',
];

/** Paths below the issuer, the public origin. */
export const OAUTH_PATHS = {
  authorize: '/oauth/authorize',
  token: '/oauth/token',
  register: '/oauth/register',
  revoke: '/oauth/revoke',
  interaction: '/oauth/interaction',
} as const;

/** The names of the cookies begin with it; on https `__Secure-` precedes it. */
export const OAUTH_COOKIE = 'fitness_oauth';

export const MCP_PATH = '/mcp';

/**
 * The resources (RFC 8707) of one origin: the origin, which covers the others, `/mcp`, and the API. A token is for one of
 * them.
 */
export const oauthResources = (baseUrl: string): string[] => [
  baseUrl,
  `${baseUrl}${MCP_PATH}`,
  `${baseUrl}/api/v1`,
];

/**
 * The resource of `oauthResources` that the indicator `named` stands for; undefined for any other. The case of
 * the host and a trailing slash do not matter.
 */
export const findOauthResource = (baseUrl: string, named: string): string | undefined => {
  const canonical = (url: string): string | undefined => URL.parse(url)?.href.replace(/\/$/, '');
  const requested = canonical(named);
  return requested === undefined
    ? undefined
    : oauthResources(baseUrl).find((own) => canonical(own) === requested);
};

/** Whether a token for `audience` is valid at the resource `path`; undefined: for every resource. */
export const isAudience = (baseUrl: string, audience: string | undefined, path: string): boolean =>
  audience === undefined || audience === baseUrl || audience === `${baseUrl}${path}`;
