/** Events of grants and receipts. Each is stored in the transaction of its effect. */
import {
  boostEnded,
  boostGranted,
  refundResolved,
  storePurchaseGrantEnded,
  storePurchaseGranted,
  subscriptionEnded,
  subscriptionExpiring,
  subscriptionStarted,
} from '@fitness/proto/events/store-billing.ts';
import { formatTimestamp } from '@fitness/shared/kernel/clock.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../dependencies.ts';
import { type Boost, type Grant, type Order, payableTypeOf, type Subscription } from '../domain/grant.ts';
import type { StorePurchase } from '../domain/purchase.ts';
import type { Refund, RefundOutcome } from '../domain/refund.ts';
import type { Purchased } from '../domain/verdict.ts';

type PublishDependencies = Pick<Dependencies, 'outbox'>;

const boostData = (boost: Boost) => ({
  boost_id: boost.id,
  boostable_type: boost.target.type,
  boostable_id: boost.target.id,
  level: boost.level,
  starts_at: formatTimestamp(boost.startsAt),
  ends_at: formatTimestamp(boost.endsAt),
});

const subscriptionData = (subscription: Subscription) => ({
  subscription_id: subscription.id,
  user_id: subscription.userId,
  type: subscription.type,
  starts_at: formatTimestamp(subscription.startsAt),
  expires_at: formatTimestamp(subscription.expiresAt),
});

/** Subjects have a prefix because a subscription and a boost may have the same id. */
const boostSubject = (id: number): string => `boost-${id}`;
const subscriptionSubject = (id: number): string => `subscription-${id}`;

const publishOf =
  (ofSubscription: typeof subscriptionStarted, ofBoost: typeof boostGranted) =>
  async (
    { outbox }: PublishDependencies,
    session: ClientSession,
    grant: Grant,
    version: number,
  ): Promise<void> => {
    const { id } = grant;
    if (grant.kind === 'boost') {
      const event = { subject: boostSubject(id), data: boostData(grant), aggregateVersion: version };
      await outbox.publish(session, ofBoost, event);
    } else {
      const data = subscriptionData(grant);
      const event = { subject: subscriptionSubject(id), data, aggregateVersion: version };
      await outbox.publish(session, ofSubscription, event);
    }
  };

/** Publishes the start of a grant. */
export const publishGrant = publishOf(subscriptionStarted, boostGranted);

/** Publishes the end of a grant. A subscription that expires has none. */
export const publishGrantEnded = publishOf(subscriptionEnded, boostEnded);

export const publishSubscriptionExpiring = async (
  { outbox }: PublishDependencies,
  session: ClientSession,
  subscription: Subscription,
  version: number,
): Promise<void> => {
  const { id } = subscription;
  const event = {
    subject: subscriptionSubject(id),
    data: subscriptionData(subscription),
    aggregateVersion: version,
  };
  await outbox.publish(session, subscriptionExpiring, event);
};

export const publishStorePurchaseGranted = async (
  { outbox }: PublishDependencies,
  session: ClientSession,
  { id, channel, productId, grant }: StorePurchase,
  { userId, offer }: Order,
  { unpaid, quantity = 1 }: Purchased,
): Promise<void> => {
  const data = {
    store_purchase_id: id,
    user_id: userId,
    channel,
    product_id: productId,
    // The amount that the store has collected.
    amount: unpaid === undefined ? offer.price * quantity : 0,
    payable_type: payableTypeOf(grant.kind),
    payable_id: grant.id,
  };
  await outbox.publish(session, storePurchaseGranted, { subject: id, aggregateVersion: 1, data });
};

export const publishStorePurchaseGrantEnded = async (
  { outbox }: PublishDependencies,
  session: ClientSession,
  { id, userId }: StorePurchase,
  version: number,
  endedAt: Date,
): Promise<void> => {
  const data = { store_purchase_id: id, user_id: userId, ended_at: formatTimestamp(endedAt) };
  await outbox.publish(session, storePurchaseGrantEnded, { subject: id, aggregateVersion: version, data });
};

export const publishRefundResolved = async (
  { outbox }: PublishDependencies,
  session: ClientSession,
  { id, userId, channel, productId }: Refund,
  outcome: RefundOutcome,
): Promise<void> => {
  const data = { refund_id: id, user_id: userId, channel, product_id: productId, outcome };
  await outbox.publish(session, refundResolved, { subject: `refund-${id}`, aggregateVersion: 1, data });
};
