import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import type { Dependencies } from '../dependencies.ts';

/** Revokes the presented token; a repeated call has no effect. */
export const createSignOut =
  ({ tokens }: Pick<Dependencies, 'tokens'>) =>
  ({ tokenId }: UserCaller): Promise<void> =>
    tokens.delete(tokenId);
