/**
 * What follows a grant, after it is committed, until it is done: the purchase is owed to nobody any more, and the store
 * knows that it is used.
 */
import { acknowledgeWaitMs, type StorePurchase } from '../domain/purchase.ts';
import type { BillingDeps } from './deps.ts';

type Parts = Pick<BillingDeps, 'store' | 'channel' | 'clock' | 'log'>;

const AT_ONCE = 50;

/** One try, by whoever has claimed it; the next one is due after a growing wait. */
export const acknowledge = async (deps: Parts, purchase: StorePurchase): Promise<void> => {
  const { store, channel, clock, log } = deps;
  await store.refunds.resolve(purchase, 'granted', clock.now());
  const settled = await channel.settle(purchase);
  if (settled.outcome === 'done') {
    await store.purchases.acknowledged(purchase, clock.now());
    return;
  }
  log.warn(
    { store_purchase_id: purchase.id, detail: settled.detail },
    'the store could not be told of a redeemed purchase; it will be told again',
  );
};

export const createAcknowledgeAll =
  (deps: Parts): (() => Promise<void>) =>
  async () => {
    const { store, channel, clock } = deps;
    for (const purchase of await store.purchases.toAcknowledge(channel.name, clock.now(), AT_ONCE)) {
      const now = clock.now();
      const until = new Date(now.getTime() + acknowledgeWaitMs(purchase.acknowledgeTries));
      if (await store.purchases.claimAcknowledgement(purchase, now, until)) await acknowledge(deps, purchase);
    }
  };
