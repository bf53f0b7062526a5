/** What the two ends of OAuth agree on: identity grants it, the gateway publishes it and asks for it. */
import { isPermission, PERMISSIONS, type Permission } from './permissions.ts';

/**
 * Permissions that no third party can be given. With an e-mail address, a role or a whole account in his hands he could
 * take over accounts, his user's own included, and outlive every revocation.
 */
const NEVER_GRANTED: ReadonlySet<Permission> = new Set(['users.update_any', 'users.delete', 'roles.manage']);

/** The scopes of OAuth: the named permissions that a user can lend to a third party. */
export const OAUTH_SCOPES: readonly Permission[] = PERMISSIONS.filter(
  (permission) => !NEVER_GRANTED.has(permission),
);

export const isOauthScope = (value: string): value is Permission =>
  isPermission(value) && OAUTH_SCOPES.includes(value);

/** What the tools of `/mcp` need, and what a request without `scope` asks for: reading, and nothing that changes. */
export const READING_SCOPES: readonly Permission[] = [
  'users.view_limited',
  'posts.view',
  'payments.view_own',
];

/** Below the issuer, which is the origin that clients use. */
export const OAUTH_PATHS = {
  authorize: '/oauth/authorize',
  token: '/oauth/token',
  register: '/oauth/register',
  revoke: '/oauth/revoke',
  interaction: '/oauth/interaction',
} as const;

export const MCP_PATH = '/mcp';

/**
 * The resource indicators (RFC 8707) of one origin: the origin itself and its two doors. They name one protected
 * resource, since `/mcp` answers out of the API with the caller's own token.
 */
const oauthResources = (baseUrl: string): string[] => [baseUrl, `${baseUrl}${MCP_PATH}`, `${baseUrl}/api/v1`];

/** Whether `resource` is one of ours, whatever the case of its host and a slash at its end. */
export const isOauthResource = (baseUrl: string, resource: string): boolean => {
  const canonical = (url: string): string | undefined => URL.parse(url)?.href.replace(/\/$/, '');
  const asked = canonical(resource);
  return asked !== undefined && oauthResources(baseUrl).some((own) => canonical(own) === asked);
};
