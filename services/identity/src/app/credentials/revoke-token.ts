import { notFound } from '@fitness/shared/kernel/error.ts';
import type { Dependencies } from '../../dependencies.ts';
import type { NumberedKind } from '../../store/tokens.ts';

/** Revokes a token. Throws 404 for a token that the user does not have. */
export const createRevokeToken =
  ({ store }: Pick<Dependencies, 'store'>, kind: NumberedKind) =>
  async (userId: number, id: number): Promise<void> => {
    // The 404 comes after the commit and also waits for the gateways: the response to an earlier call may have been lost.
    const isDeleted = await store.transaction((session) =>
      store.tokens.deleteNumbered(session, userId, kind, id),
    );
    if (!isDeleted) throw notFound();
  };
