/** The daily second look at redeemed purchases, for thirty days: what the store took back ends its grant, once. */
import { storePurchaseGrantEnded } from '@fitness/proto/events/store-billing.ts';
import { formatTimestamp } from '@fitness/shared/clock.ts';
import type { StorePurchase } from '../domain/purchase.ts';
import { boostSlot, premiumSlot } from '../domain/target.ts';
import { announceBoostEnded } from './announce.ts';
import type { BillingDeps } from './deps.ts';

type Parts = Pick<BillingDeps, 'store' | 'channel' | 'clock' | 'outbox' | 'log'>;

const AT_ONCE = 200;

export const createLookAgain =
  (deps: Parts): (() => Promise<void>) =>
  async () => {
    await lookAtReceipts(deps);
    await lookAtRefunds(deps);
  };

const lookAtReceipts = async (deps: Parts): Promise<void> => {
  const { store, channel, clock } = deps;
  const mine: StorePurchase[] = [];
  for (const purchase of await store.purchases.toLookAt(channel.name, clock.now(), AT_ONCE))
    if (await store.purchases.claimLook(purchase, clock.now())) mine.push(purchase);
  const standings = await channel.findRefunded(mine.map((each) => ({ ...each, redeemedAt: each.createdAt })));
  for (const [index, purchase] of mine.entries())
    if (standings[index] === 'refunded') await endGrant(deps, purchase);
};

const endGrant = async (deps: Parts, taken: StorePurchase): Promise<void> => {
  const { store, clock, outbox, log } = deps;
  const { id } = taken;
  await store.transaction(async (session) => {
    const now = clock.now();
    const marked = await store.purchases.markEnded(session, taken, now);
    if (marked === undefined) return;
    const { purchase, version } = marked;
    const ended = await store.grants.end(session, purchase.grant.kind, purchase.grant.id, now);
    if (ended !== undefined) {
      const { grant } = ended;
      const slot = grant.kind === 'premium' ? premiumSlot(grant.userId) : boostSlot(grant.target);
      await store.slots.end(session, slot, grant.id, now);
      if (grant.kind === 'boost') await announceBoostEnded(deps, session, grant, ended.version);
    }
    await outbox.emit(session, storePurchaseGrantEnded, {
      subject: id,
      aggregateVersion: version,
      data: { store_purchase_id: id, user_id: purchase.userId, ended_at: formatTimestamp(now) },
    });
  });
  log.info({ store_purchase_id: id }, 'the store took a purchase back; its grant has ended');
};

/** What the operators owe leaves the queue once the store says that it is paid back. */
const lookAtRefunds = async ({ store, channel, clock }: Parts): Promise<void> => {
  const mine = [];
  for (const refund of await store.refunds.toLookAt(channel.name, clock.now(), AT_ONCE))
    if (await store.refunds.claimLook(refund, clock.now())) mine.push(refund);
  const standings = await channel.findRefunded(mine.map((each) => ({ ...each, redeemedAt: each.createdAt })));
  for (const [index, refund] of mine.entries())
    if (standings[index] === 'refunded')
      await store.refunds.resolve(refund.attemptId, 'refunded', clock.now());
};
