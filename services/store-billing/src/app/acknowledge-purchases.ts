/** Work after a grant is committed: resolve the purchase in the refund queue and acknowledge it to the store. */
import type { Dependencies } from '../dependencies.ts';
import type { StorePurchase } from '../domain/purchase.ts';

type AcknowledgeDependencies = Pick<Dependencies, 'store' | 'channel' | 'clock' | 'log'>;

const BATCH_SIZE = 50;

/** One attempt, by the caller that claimed the purchase. If it fails, the job retries it with growing delays. */
export const acknowledge = async (
  { store, channel, clock, log }: AcknowledgeDependencies,
  purchase: StorePurchase,
): Promise<void> => {
  await store.refunds.resolve(purchase, 'granted', clock.now());
  const acknowledged = await channel.acknowledge(purchase);
  if (acknowledged.outcome === 'done') {
    await store.purchases.markAcknowledged(purchase, clock.now());
    return;
  }
  log.warn(
    { store_purchase_id: purchase.id, detail: acknowledged.detail },
    'a redeemed purchase could not be acknowledged to the store; it will be retried',
  );
};

export const createAcknowledgePurchases =
  (dependencies: AcknowledgeDependencies) => async (): Promise<void> => {
    const { store, channel } = dependencies;
    for (const purchase of await store.purchases.dueForAcknowledgement(channel.name, BATCH_SIZE)) {
      if (await store.purchases.claimAcknowledgement(purchase)) await acknowledge(dependencies, purchase);
    }
  };
