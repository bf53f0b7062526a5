import type { WalletDeps } from '../deps.ts';
import type { Blocker } from './blocker.ts';

/** Any balance but zero, positive or negative. */
export const unsettledBalance = ({ store }: Pick<WalletDeps, 'store'>): Blocker<'unsettled_balance'> => ({
  code: 'unsettled_balance',
  evaluate: async (userId) => {
    const balance = (await store.wallets.balances([userId])).get(userId) ?? 0;
    return balance === 0 ? undefined : { balance };
  },
});
