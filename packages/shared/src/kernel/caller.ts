/** Who calls: a user with the permissions of a token, or a guest. */
import type { Permission } from './permissions.ts';

/** `personal`: made without a list of permissions. `restricted`: made with one, which may be empty. */
export const ALL_TOKEN_KINDS = ['session', 'personal', 'restricted', 'oauth'] as const;
export type CallerTokenKind = (typeof ALL_TOKEN_KINDS)[number];
/** Tokens that may do what their user may; what a restricted or OAuth token may do is limited to its permissions. */
export const SESSION_AND_PERSONAL: readonly CallerTokenKind[] = ['session', 'personal'];
/** For credentials: a token must not outlive its revocation by making or changing others. */
export const SESSION_ONLY: readonly CallerTokenKind[] = ['session'];

/** Pages of the gateway that have sessions: `/ops` and `/account-deletion`. */
export const SESSION_PAGES = ['ops', 'account_deletion'] as const;
export type SessionPage = (typeof SESSION_PAGES)[number];

export interface UserCaller {
  kind: 'user';
  userId: number;
  permissions: ReadonlySet<Permission>;
  /** What the token would have besides, if its user had a second factor. */
  withheld?: ReadonlySet<Permission>;
  /** Of an OAuth token: the scopes that its user could still give to the app. */
  grantable?: ReadonlySet<Permission>;
  tokenId: string;
  tokenKind: CallerTokenKind;
  /** Of a session of a page, whose cookie it is: the token may call what this page calls. */
  page?: SessionPage;
  /** Staff with a second factor, which their sessions have passed. For the gateway, which checks it; it is not signed. */
  hasSecondFactor?: boolean;
  /** Of an OAuth token: the resource it is for (RFC 8707). For the gateway, which checks it; it is not signed. */
  audience?: string;
}

export type Caller = UserCaller | { kind: 'guest' };

export const GUEST: Caller = { kind: 'guest' };

export const can = (caller: Caller, permission: Permission): boolean =>
  caller.kind === 'user' && caller.permissions.has(permission);

/**
 * The user whose own resources the caller sees as their owner. `permission` covers these resources: a restricted or OAuth
 * token without it sees what everybody sees, and so does every such token where no permission covers them.
 */
export const ownerIdOf = (caller: Caller, permission?: Permission): number | undefined => {
  if (caller.kind === 'guest') return undefined;
  const isCovered = permission !== undefined && caller.permissions.has(permission);
  return isCovered || SESSION_AND_PERSONAL.includes(caller.tokenKind) ? caller.userId : undefined;
};

/** Whether the caller sees what belongs to user `userId` as its owner; see {@link ownerIdOf}. */
export const isOwn = (caller: Caller, userId: number | null | undefined, permission?: Permission): boolean =>
  userId != null && ownerIdOf(caller, permission) === userId;
