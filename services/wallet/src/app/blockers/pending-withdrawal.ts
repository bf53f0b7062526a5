import type { WalletDeps } from '../deps.ts';
import type { Blocker } from './blocker.ts';

/** Withdrawals that are neither paid nor rejected. */
export const pendingWithdrawal = ({ store }: Pick<WalletDeps, 'store'>): Blocker<'pending_withdrawal'> => ({
  code: 'pending_withdrawal',
  evaluate: async (userId) => {
    const count = await store.payments.countOpenWithdrawals(userId);
    return count === 0 ? undefined : { count };
  },
});
