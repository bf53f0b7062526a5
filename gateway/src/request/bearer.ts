/** Refusals of tokens by the gateway itself. The challenge tells a client what to request (RFC 6750, RFC 9728). */
import { isAudience } from '@fitness/contracts/oauth.ts';
import type { Caller } from '@fitness/shared/kernel/caller.ts';
import { AppError, message } from '@fitness/shared/kernel/error.ts';
import { insufficientScope } from '@fitness/shared/kernel/missing-permission.ts';
import type { Permission } from '@fitness/shared/kernel/permissions.ts';
import { resourceMetadataUrl } from './oauth-metadata.ts';

/** @param path the path of the resource */
export const metadataParameter = (baseUrl: string, path: string): string =>
  `resource_metadata="${resourceMetadataUrl(baseUrl, path)}"`;

/** Throws 401 for a token whose resource is not the one at `path` (RFC 8707). */
export const assertAudience = (caller: Caller, baseUrl: string, path: string): void => {
  if (caller.kind === 'guest' || isAudience(baseUrl, caller.audience, path)) return;
  const parameters = [
    'error="invalid_token"',
    'error_description="The token is for another resource."',
    metadataParameter(baseUrl, path),
  ];
  throw new AppError({
    kind: 'unauthenticated',
    code: 'unauthenticated',
    message: message('error.unauthenticated'),
    internal: `the token is for ${caller.audience}`,
    headers: { 'www-authenticate': `Bearer ${parameters.join(', ')}` },
  });
};

/**
 * 403 for a token without the scopes of a tool. The challenge includes the scopes that the token has: a client requests
 * exactly the named scopes, and would lose the others.
 */
export const scopeMissing = (needed: readonly Permission[], baseUrl: string, path: string): AppError =>
  new AppError({
    kind: 'forbidden',
    code: 'forbidden',
    message: message('error.forbidden'),
    internal: `needs ${needed.join(' ')}`,
    headers: insufficientScope(needed, [metadataParameter(baseUrl, path)]),
  });
