/** What other services show: running subscriptions, live boosts, prices. */
import type { Boost, Subscription } from '../domain/grant.ts';
import type { Target } from '../domain/target.ts';
import type { BillingDeps } from './deps.ts';

export interface LookUp {
  subscriptions(userIds: readonly number[]): Promise<Subscription[]>;
  boosts(targets: readonly Target[]): Promise<Boost[]>;
  /** Whole Tooman. */
  prices(): { premiumPlus: number; boostBasic: number; boostPro: number };
}

export const createLookUp = ({
  store,
  clock,
  catalogue,
}: Pick<BillingDeps, 'store' | 'clock' | 'catalogue'>): LookUp => ({
  subscriptions: (userIds) => store.grants.runningSubscriptions(userIds, clock.now()),
  boosts: (targets) => store.grants.liveBoosts(targets, clock.now()),
  prices: () => ({
    premiumPlus: catalogue.premium.price,
    boostBasic: catalogue.boosts.basic.price,
    boostPro: catalogue.boosts.pro.price,
  }),
});
