/** Every use case of store-billing, built from the dependencies. */
import { createAcknowledgePurchases } from './app/acknowledge-purchases.ts';
import { createAnnounceExpiringSubscriptions } from './app/announce-expiring-subscriptions.ts';
import { createBlockers } from './app/blockers.ts';
import { createBuyBoost } from './app/buy-boost.ts';
import { createBuyFromWallet } from './app/buy-from-wallet.ts';
import { createBuyPremium } from './app/buy-premium.ts';
import { createEndTargetBoost } from './app/end-target-boost.ts';
import { createEraseAccount } from './app/erase-account.ts';
import { createGetBoosts } from './app/get-boosts.ts';
import { createGetPrices } from './app/get-prices.ts';
import { createGetSubscriptions } from './app/get-subscriptions.ts';
import { createPublishBoostEnds } from './app/publish-boost-ends.ts';
import { createPublishRunningGrants } from './app/publish-running-grants.ts';
import { createReconcileRefunds } from './app/reconcile-refunds.ts';
import { createRedeemStorePurchase } from './app/redeem-store-purchase.ts';
import { createResolveRefund } from './app/resolve-refund.ts';
import { createRestorePurchases } from './app/restore-purchases.ts';
import { createSweepWalletPurchases } from './app/sweep-wallet-purchases.ts';
import { createVerifyAttempts } from './app/verify-attempts.ts';
import type { Dependencies } from './dependencies.ts';

export const createUseCases = (dependencies: Dependencies) => {
  const buyFromWallet = createBuyFromWallet(dependencies);
  return {
    redeemStorePurchase: createRedeemStorePurchase(dependencies),
    listRefunds: dependencies.store.refunds.page,
    resolveRefund: createResolveRefund(dependencies),
    buyPremium: createBuyPremium({ ...dependencies, buyFromWallet }),
    buyBoost: createBuyBoost({ ...dependencies, buyFromWallet }),
    getSubscriptions: createGetSubscriptions(dependencies),
    getBoosts: createGetBoosts(dependencies),
    getPrices: createGetPrices(dependencies),
    blockers: createBlockers(dependencies),
    eraseAccount: createEraseAccount(dependencies),
    endTargetBoost: createEndTargetBoost(dependencies),
    restorePurchases: createRestorePurchases(dependencies),
    verifyAttempts: createVerifyAttempts(dependencies),
    acknowledgePurchases: createAcknowledgePurchases(dependencies),
    sweepWalletPurchases: createSweepWalletPurchases(dependencies),
    reconcileRefunds: createReconcileRefunds(dependencies),
    publishBoostEnds: createPublishBoostEnds(dependencies),
    publishRunningGrants: createPublishRunningGrants(dependencies),
    announceExpiringSubscriptions: createAnnounceExpiringSubscriptions(dependencies),
  };
};

export type UseCases = ReturnType<typeof createUseCases>;
