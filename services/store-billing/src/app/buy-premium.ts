import type { Grant } from '../domain/grant.ts';
import type { BuyFromWallet, WalletOrder } from './buy-from-wallet.ts';
import type { BillingDeps } from './deps.ts';

/** A month of premium from the wallet. Errors: see {@link BuyFromWallet}. */
export type BuyPremium = (userId: number, paid: Omit<WalletOrder, 'order'>) => Promise<Grant>;

export const createBuyPremium =
  ({ catalogue }: Pick<BillingDeps, 'catalogue'>, buy: BuyFromWallet): BuyPremium =>
  (userId, paid) =>
    buy({ order: { userId, offer: catalogue.premium, target: null }, ...paid });
