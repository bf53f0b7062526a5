/** An account is erased: the payments stay, what is personal in them goes (contract 2.2). */
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { WalletDeps } from './deps.ts';

/** Runs in the transaction of `session`; a second run changes nothing. */
export type EraseUser = (session: ClientSession, userId: number) => Promise<void>;

export const createEraseUser =
  ({ store, clock, idempotency }: Pick<WalletDeps, 'store' | 'clock' | 'idempotency'>): EraseUser =>
  async (session, userId) => {
    // The mark goes first: a deposit that is credited at the same moment conflicts with it, and writes nothing
    // personal once it stands.
    await store.wallets.markErased(session, userId, clock.now());
    await store.payments.erasePersonal(session, userId);
    await idempotency.forgetUser(session, userId);
  };
