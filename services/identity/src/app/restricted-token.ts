/** Tokens with a list of permissions: they may do less than their user. */
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { unauthenticated } from '@fitness/shared/kernel/error.ts';
import type { Dependencies } from '../dependencies.ts';

/**
 * The permissions that the presented token is restricted to; undefined for a session token and for a personal token
 * without a list. 401 when the token was revoked or has expired since it was introspected.
 */
export const tokenRestriction = async (
  { store, clock }: Pick<Dependencies, 'store' | 'clock'>,
  caller: UserCaller,
): Promise<readonly string[] | undefined> => {
  if (caller.tokenKind === 'session') return undefined;
  const presented = await store.tokens.findLive(caller.tokenId, clock.now());
  if (presented === null) throw unauthenticated();
  return presented.permissions ?? undefined;
};
