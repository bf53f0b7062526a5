/** Refusals of tokens by the gateway itself, with the challenge that tells a client what to ask for (RFC 6750, RFC 9728). */
import { isAudience } from '@fitness/contracts/oauth.ts';
import type { Caller } from '@fitness/shared/kernel/caller.ts';
import { AppError, message } from '@fitness/shared/kernel/error.ts';
import { insufficientScope } from '@fitness/shared/kernel/missing-permission.ts';
import type { Permission } from '@fitness/shared/kernel/permissions.ts';
import { resourceMetadataUrl } from './oauth-metadata.ts';

/** @param path of the resource */
export const metadataParameter = (baseUrl: string, path: string): string =>
  `resource_metadata="${resourceMetadataUrl(baseUrl, path)}"`;

/** Throws 401 for a token that is for another resource than the one at `path` (RFC 8707). */
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
 * 403 for a token without the scopes of a tool. The challenge names those that the token has as well: a client asks its user
 * for what it names, and would lose the others.
 */
export const scopeMissing = (needed: readonly Permission[], baseUrl: string, path: string): AppError =>
  new AppError({
    kind: 'forbidden',
    code: 'forbidden',
    message: message('error.forbidden'),
    internal: `needs ${needed.join(' ')}`,
    headers: insufficientScope(needed, [metadataParameter(baseUrl, path)]),
  });
