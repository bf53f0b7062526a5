import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import type { Dependencies } from '../../dependencies.ts';

/** Revokes the presented token. Repeated calls have no further effect. */
export const createSignOut =
  ({ store }: Dependencies) =>
  ({ userId, tokenId }: UserCaller): Promise<void> =>
    store.transaction((session) => store.tokens.delete(session, userId, tokenId));
