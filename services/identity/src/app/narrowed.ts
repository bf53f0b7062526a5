/** Credentials that were made to do less than their user may, and what is therefore not for them. */
import type { UserCaller } from '@fitness/shared/caller.ts';
import { unauthenticated } from '@fitness/shared/error.ts';
import type { TokenStore } from '../store/tokens.ts';

/**
 * What the presenting token was cut down to, or undefined when it does whatever its user may: a log-in, and a personal
 * token that was made without a list of permissions. 401 when it has died since it was looked at.
 */
export const narrowedTo = async (
  tokens: TokenStore,
  caller: UserCaller,
  now: Date,
): Promise<readonly string[] | undefined> => {
  if (caller.tokenKind === 'session') return undefined;
  const presenting = await tokens.findLive(caller.tokenId, now);
  if (presenting === null) throw unauthenticated();
  return presenting.permissions ?? undefined;
};
