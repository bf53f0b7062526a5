/** Erases an account: the payments stay, their personal data is deleted. */
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../dependencies.ts';

/** Runs in the transaction of `session`; a repeated run has no effect. */
export type EraseAccount = (session: ClientSession, userId: number) => Promise<void>;

export const createEraseAccount =
  ({ store, clock, idempotency }: Pick<Dependencies, 'store' | 'clock' | 'idempotency'>): EraseAccount =>
  async (session, userId) => {
    // First: a concurrent credit of a deposit conflicts with the mark, and its retry stores no personal data.
    await store.wallets.markErased(session, userId, clock.now());
    await store.payments.erasePersonal(session, userId);
    await idempotency.eraseAccount(session, userId);
  };
