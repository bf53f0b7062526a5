import { notFound } from '@fitness/shared/kernel/error.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../../dependencies.ts';
import type { NumberedKind } from '../../store/tokens.ts';

/** What else the transaction does before the token is revoked, and after it. */
interface Beside {
  before?(session: ClientSession): Promise<unknown>;
  after?(session: ClientSession): Promise<unknown>;
}

/** Revokes a token. Throws 404 for a token that the user does not have. */
export const createRevokeToken =
  ({ store }: Pick<Dependencies, 'store'>, kind: NumberedKind) =>
  async (userId: number, id: number, { before, after }: Beside = {}): Promise<void> => {
    // The 404 comes after the commit and also waits for the gateways: the response to an earlier call may have been lost.
    const isDeleted = await store.transaction(async (session) => {
      await before?.(session);
      if (!(await store.tokens.deleteNumbered(session, userId, kind, id))) return false;
      await after?.(session);
      return true;
    });
    if (!isDeleted) throw notFound();
  };
