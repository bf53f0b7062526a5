import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { notFound } from '@fitness/shared/kernel/error.ts';
import type { Dependencies } from '../dependencies.ts';
import { tokenRestriction } from './restricted-token.ts';

/** 404 for a token that the caller's token does not list. */
export const createRevokePersonalToken =
  ({ tokens, clock }: Pick<Dependencies, 'tokens' | 'clock'>) =>
  async (caller: UserCaller, id: number): Promise<void> => {
    const restriction = await tokenRestriction({ tokens, clock }, caller);
    if (!(await tokens.deletePersonal(caller.userId, id, restriction))) throw notFound();
  };
