import { notFound } from '@fitness/shared/kernel/error.ts';
import type { Dependencies } from '../dependencies.ts';

/** 404 for a token that the user does not have. */
export const createRevokePersonalToken =
  ({ store }: Pick<Dependencies, 'store'>) =>
  async (userId: number, id: number): Promise<void> => {
    if (!(await store.tokens.deletePersonal(userId, id))) throw notFound();
  };
