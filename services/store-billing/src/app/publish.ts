/** Events of grants and receipts. Each is stored in the transaction of its effect. */
import {
  boostEnded,
  boostGranted,
  refundResolved,
  storePurchaseGrantEnded,
  storePurchaseGranted,
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

export const publishGrant = async (
  { outbox }: PublishDependencies,
  session: ClientSession,
  grant: Grant,
): Promise<void> => {
  if (grant.kind === 'boost') {
    const event = { subject: boostSubject(grant.id), data: boostData(grant), aggregateVersion: 1 };
    await outbox.publish(session, boostGranted, event);
    return;
  }
  const event = {
    subject: subscriptionSubject(grant.id),
    data: subscriptionData(grant),
    aggregateVersion: 1,
  };
  await outbox.publish(session, subscriptionStarted, event);
};

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

export const publishBoostEnded = async (
  { outbox }: PublishDependencies,
  session: ClientSession,
  boost: Boost,
  version: number,
): Promise<void> => {
  const event = { subject: boostSubject(boost.id), data: boostData(boost), aggregateVersion: version };
  await outbox.publish(session, boostEnded, event);
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
