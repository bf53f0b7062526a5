/** The caller: a user with the permissions of a token, or a guest. */
import type { Permission } from './permissions.ts';

/** `personal`: made without a list of permissions. `restricted`: made with one, which may be empty. */
export const ALL_TOKEN_KINDS = ['session', 'personal', 'restricted', 'oauth'] as const;
export type CallerTokenKind = (typeof ALL_TOKEN_KINDS)[number];
/** Tokens with all permissions of their user. Restricted and OAuth tokens are limited to their permissions. */
export const SESSION_AND_PERSONAL: readonly CallerTokenKind[] = ['session', 'personal'];
/**
 * Only sessions manage credentials. Otherwise a token could outlive its revocation by creating or changing others.
 */
export const SESSION_ONLY: readonly CallerTokenKind[] = ['session'];

/** Pages of the gateway that have sessions: `/ops` and `/account-deletion`. */
export const SESSION_PAGES = ['ops', 'account_deletion'] as const;
export type SessionPage = (typeof SESSION_PAGES)[number];

export interface UserCaller {
  kind: 'user';
  userId: number;
  permissions: ReadonlySet<Permission>;
  /** Permissions that the token would gain if its user had a second factor. */
  withheld?: ReadonlySet<Permission>;
  /** Scopes that the user of an OAuth token could still grant to the app. */
  grantable?: ReadonlySet<Permission>;
  tokenId: string;
  tokenKind: CallerTokenKind;
  /** The page whose session cookie is this token. The token may call only what that page calls. */
  page?: SessionPage;
  /** Whether this is a staff member whose session has passed a second factor. Only the gateway checks it; it is not signed. */
  hasSecondFactor?: boolean;
  /** The resource that an OAuth token is for (RFC 8707). Only the gateway checks it; it is not signed. */
  audience?: string;
}

export type Caller = UserCaller | { kind: 'guest' };

export const GUEST: Caller = { kind: 'guest' };

export const can = (caller: Caller, permission: Permission): boolean =>
  caller.kind === 'user' && caller.permissions.has(permission);

/**
 * The user whose resources the caller sees as their owner. `permission` covers these resources. A restricted or OAuth token
 * without it sees only what everybody sees. If no permission covers them, that is true of all such tokens.
 */
export const ownerIdOf = (caller: Caller, permission?: Permission): number | undefined => {
  if (caller.kind === 'guest') return undefined;
  const isCovered = permission !== undefined && caller.permissions.has(permission);
  return isCovered || SESSION_AND_PERSONAL.includes(caller.tokenKind) ? caller.userId : undefined;
};

/** Whether the caller sees what belongs to user `userId` as its owner; see {@link ownerIdOf}. */
export const isOwn = (caller: Caller, userId: number | null | undefined, permission?: Permission): boolean =>
  userId != null && ownerIdOf(caller, permission) === userId;
