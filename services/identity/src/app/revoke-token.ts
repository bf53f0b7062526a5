import { notFound } from '@fitness/shared/kernel/error.ts';
import type { Dependencies } from '../dependencies.ts';
import type { NumberedKind } from '../store/tokens.ts';

/** 404 for a token that the user does not have. */
export const createRevokeToken =
  ({ store }: Pick<Dependencies, 'store'>, kind: NumberedKind) =>
  async (userId: number, id: number): Promise<void> => {
    if (!(await store.tokens.deleteNumbered(userId, kind, id))) throw notFound();
  };
