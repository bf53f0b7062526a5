/** Events that store-billing publishes. Timestamps are `YYYY-MM-DD HH:MM:SS`, UTC; amounts are whole Tooman. */
import { z } from 'zod';
import { defineEvent } from './define-event.ts';

const id = z.int().positive();

export const storePurchaseGranted = defineEvent({
  type: 'store_billing.store_purchase.granted',
  summary: 'A store purchase was granted; the wallet books its `store_purchase` payment, once.',
  data: z.object({
    store_purchase_id: id,
    user_id: id,
    channel: z.string(),
    product_id: z.string(),
    amount: z.int().nonnegative(),
    payable_type: z.string(),
    payable_id: id,
  }),
  consumers: ['wallet'],
});

export const storePurchaseGrantEnded = defineEvent({
  type: 'store_billing.store_purchase.grant_ended',
  summary: 'The store reported a refund and the grant was ended; the payment stays.',
  data: z.object({ store_purchase_id: id, user_id: id, ended_at: z.string() }),
});

export const refundResolved = defineEvent({
  type: 'store_billing.refund.resolved',
  summary: 'An operator closed a row of the refund queue.',
  data: z.object({
    refund_id: id,
    user_id: id,
    channel: z.string(),
    product_id: z.string(),
    outcome: z.enum(['refunded', 'granted']),
  }),
  consumers: ['identity'],
});

const subscription = z.object({
  subscription_id: id,
  user_id: id,
  type: z.string(),
  starts_at: z.string(),
  expires_at: z.string(),
});

export const subscriptionStarted = defineEvent({
  type: 'store_billing.subscription.started',
  summary: 'A subscription started, bought at a store or from the wallet.',
  data: subscription,
});

export const subscriptionExpiring = defineEvent({
  type: 'store_billing.subscription.expiring',
  summary: 'A running subscription ends within three days; its user is notified.',
  data: subscription,
  consumers: ['identity'],
});

const boost = z.object({
  boost_id: id,
  boostable_type: z.enum(['gym', 'training_service']),
  boostable_id: id,
  level: z.int(),
  starts_at: z.string(),
  ends_at: z.string(),
});

export const boostGranted = defineEvent({
  type: 'store_billing.boost.granted',
  summary: 'A boost started, bought at a store or from the wallet.',
  data: boost,
  consumers: ['content', 'gyms'],
});

export const boostEnded = defineEvent({
  type: 'store_billing.boost.ended',
  summary: 'A boost ended: it expired, the store refunded its purchase, or its target was deleted.',
  data: boost,
  consumers: ['content', 'gyms'],
});
