import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import type { Dependencies } from '../dependencies.ts';

/** Revokes the presented token; a repeated call has no effect. */
export const createSignOut =
  ({ store }: Pick<Dependencies, 'store'>) =>
  ({ tokenId }: UserCaller): Promise<void> =>
    store.tokens.delete(tokenId);
