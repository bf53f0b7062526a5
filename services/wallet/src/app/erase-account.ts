/** Erases an account: its payments stay, and their personal data is deleted. */
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import { oneStep, type Rest } from '@fitness/shared/mongo/steps.ts';
import type { Dependencies } from '../dependencies.ts';

/** Runs one step in the transaction of `session`. Repeating it has no effect. */
export type EraseAccount = (session: ClientSession, userId: number) => Promise<Rest>;

export const createEraseAccount =
  ({ store, clock, idempotency }: Dependencies): EraseAccount =>
  async (session, userId) => {
    // The mark comes first: a concurrent credit of a deposit conflicts with it, and the retry stores no personal data.
    const wallet = await store.wallets.find(session, userId);
    if (wallet?.erased !== true) await store.wallets.markErased(session, userId, clock.now());
    return oneStep(
      (limit) => store.payments.erasePersonal(session, userId, limit),
      (limit) => idempotency.eraseAccount(session, userId, limit),
    );
  };
