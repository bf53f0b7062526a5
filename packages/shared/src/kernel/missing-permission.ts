/** The 403 for a caller whose token lacks a permission that a route or a use case needs. */
import { type Caller, can } from './caller.ts';
import { AppError, message } from './error.ts';
import type { Permission } from './permissions.ts';

/**
 * `WWW-Authenticate` for a token that lacks a scope of `needed` (RFC 6750, 3.1). `parameters` are added unchanged:
 * `resource_metadata="…"`.
 */
export const insufficientScope = (
  needed: readonly Permission[],
  parameters: readonly string[] = [],
): Record<string, string> => ({
  'www-authenticate': `Bearer ${['error="insufficient_scope"', `scope="${needed.join(' ')}"`, ...parameters].join(', ')}`,
});

interface Needs {
  /** One of these, the least far-reaching first. */
  permissions?: readonly Permission[] | undefined;
  /** All of these. */
  alsoNeeds?: readonly Permission[] | undefined;
}

/**
 * 403. An OAuth client learns which scopes to request, if its user can grant them. Other kinds of token cannot be extended.
 */
export const missingPermission = (caller: Caller, needs: Needs): AppError => {
  const scopes = scopesFor(caller, needs);
  const canRequest = scopes.every((scope) => can(caller, scope) || isGrantable(caller, scope));
  return new AppError({
    kind: 'forbidden',
    code: 'forbidden',
    message: message('error.forbidden'),
    internal: `needs ${scopes.join(' ')}`,
    headers: canRequest && scopes.length > 0 ? insufficientScope(scopes) : undefined,
  });
};

const scopesFor = (caller: Caller, { permissions = [], alsoNeeds = [] }: Needs): Permission[] => {
  const one =
    permissions.find((permission) => can(caller, permission)) ??
    permissions.find((permission) => isGrantable(caller, permission)) ??
    permissions[0];
  return [...new Set(one === undefined ? alsoNeeds : [one, ...alsoNeeds])];
};

const isGrantable = (caller: Caller, permission: Permission): boolean =>
  caller.kind === 'user' && caller.grantable?.has(permission) === true;
