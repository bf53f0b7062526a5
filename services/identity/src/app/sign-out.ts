import type { UserCaller } from '@fitness/shared/caller.ts';
import type { TokenStore } from '../store/tokens.ts';

/** The presenting token dies; again does no harm. */
export type SignOut = (caller: UserCaller) => Promise<void>;

export const createSignOut =
  (tokens: TokenStore): SignOut =>
  ({ tokenId }) =>
    tokens.delete(tokenId);
