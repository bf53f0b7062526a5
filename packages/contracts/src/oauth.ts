/** OAuth constants of identity, which issues tokens, and the gateway, which publishes the metadata. */
import { isPermission, PERMISSIONS, type Permission } from '@fitness/shared/kernel/permissions.ts';

/**
 * Permissions that no third party can get: with them it could take over accounts, keep access after a revocation, or read
 * what operators did.
 */
const NEVER_GRANTED: ReadonlySet<Permission> = new Set([
  'users.update_any',
  'users.delete',
  'roles.manage',
  'audit.view',
]);

/** The OAuth scopes: the permissions that a user can delegate to a third party. */
export const OAUTH_SCOPES: readonly Permission[] = PERMISSIONS.filter(
  (permission) => !NEVER_GRANTED.has(permission),
);

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

export const MCP_PATH = '/mcp';

/**
 * The resource indicators (RFC 8707) of one origin. All three name one protected resource: `/mcp` calls the API with the
 * caller's token.
 */
const oauthResources = (baseUrl: string): string[] => [baseUrl, `${baseUrl}${MCP_PATH}`, `${baseUrl}/api/v1`];

/** Whether `resource` is one of ours; the case of the host and a trailing slash do not matter. */
export const isOauthResource = (baseUrl: string, resource: string): boolean => {
  const canonical = (url: string): string | undefined => URL.parse(url)?.href.replace(/\/$/, '');
  const asked = canonical(resource);
  return asked !== undefined && oauthResources(baseUrl).some((own) => canonical(own) === asked);
};
