/** Erases an account: its payments stay, and their personal data is deleted. */
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import { oneStep, type Rest } from '@fitness/shared/mongo/steps.ts';
import type { Dependencies } from '../dependencies.ts';

/**
 * Runs one step in the transaction of `session`. Calling it again has no effect. `isRepeated`: a restore has erased the account again.
 */
export type EraseAccount = (session: ClientSession, userId: number, isRepeated: boolean) => Promise<Rest>;

export const createEraseAccount =
  ({ store, clock, idempotency }: Dependencies): EraseAccount =>
  async (session, userId, isRepeated) => {
    // The mark comes first: a concurrent credit of a deposit conflicts with it, and the retry stores no personal data.
    const wallet = await store.wallets.find(session, userId);
    // Both events of an account that a restore erases twice may arrive in any order, and only the first says that it is repeated.
    if (wallet?.erased !== true || (isRepeated && !wallet.isErasureRepeated))
      await store.wallets.markErased(session, userId, { at: clock.now(), isRepeated });
    return oneStep(
      (limit) => store.payments.erasePersonal(session, userId, limit),
      (limit) => idempotency.eraseAccount(session, userId, limit),
    );
  };
