/** What in the wallet blocks the deletion of an account (specification 4.1, rule 5). */
import type { BlockersOf } from '@fitness/contracts/blockers.ts';
import type { Dependencies } from '../dependencies.ts';

export const createBlockers = ({ store }: Dependencies): BlockersOf<'wallet'> => ({
  /** Any balance other than zero, positive or negative. */
  unsettled_balance: async (userId) => {
    const balance = await store.wallets.balance(userId);
    return balance === 0 ? undefined : { balance };
  },
  /** Withdrawals that are neither paid nor rejected. */
  pending_withdrawal: async (userId) => {
    const count = await store.payments.countOpenWithdrawals(userId);
    return count === 0 ? undefined : { count };
  },
});
