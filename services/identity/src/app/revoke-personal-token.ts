import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { notFound } from '@fitness/shared/kernel/error.ts';
import type { Dependencies } from '../dependencies.ts';
import { tokenRestriction } from './restricted-token.ts';

/** 404 for a token that the caller's token does not list. */
export const createRevokePersonalToken =
  ({ store, clock }: Pick<Dependencies, 'store' | 'clock'>) =>
  async (caller: UserCaller, id: number): Promise<void> => {
    const restriction = await tokenRestriction({ store, clock }, caller);
    if (!(await store.tokens.deletePersonal(caller.userId, id, restriction))) throw notFound();
  };
