/** The 403 of a caller whose token does not have what a route needs. */
import { type Caller, can } from './caller.ts';
import { AppError, message } from './error.ts';
import { DELEGABLE_PERMISSIONS, type Permission } from './permissions.ts';

/**
 * `WWW-Authenticate` for a token without all scopes of `needed` (RFC 6750, 3.1). `parameters` are further ones, complete:
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
 * 403. An OAuth client learns which scopes to ask its user for. Other kinds of token cannot be extended, and no app can get
 * a permission that is never delegated.
 */
export const missingPermission = (caller: Caller, needs: Needs): AppError => {
  const scopes = scopesFor(caller, needs);
  const isApp = caller.kind === 'user' && caller.tokenKind === 'oauth';
  return new AppError({
    kind: 'forbidden',
    code: 'forbidden',
    message: message('error.forbidden'),
    internal: `needs ${scopes.join(' ')}`,
    headers: isApp && scopes.every(isDelegable) ? insufficientScope(scopes) : undefined,
  });
};

const scopesFor = (caller: Caller, { permissions = [], alsoNeeds = [] }: Needs): Permission[] => {
  const one =
    permissions.find((permission) => can(caller, permission)) ??
    permissions.find(isDelegable) ??
    permissions[0];
  return one === undefined ? [...alsoNeeds] : [one, ...alsoNeeds];
};

const isDelegable = (permission: Permission): boolean => DELEGABLE_PERMISSIONS.includes(permission);
