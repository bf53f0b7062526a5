/** Events that store-billing publishes. */
import { z } from 'zod';
import { defineEvent } from './define-event.ts';

const id = z.int().positive();
const timestamp = z.string().meta({ description: '`YYYY-MM-DD HH:MM:SS` in UTC' });

export const storePurchaseGranted = defineEvent({
  type: 'store_billing.store_purchase.granted',
  summary: 'An app-store purchase was granted. The wallet books its `store_purchase` payment once.',
  advice: 'Book the purchase once for each `id` of an event.',
  data: z.object({
    store_purchase_id: id,
    user_id: id,
    channel: z.string(),
    product_id: z.string(),
    amount: z.int().nonnegative().meta({ description: 'What the store collected, in Tooman' }),
    payable_type: z.string().meta({ description: 'Model name of the subscription or boost' }),
    payable_id: id,
  }),
  consumers: ['wallet'],
});

export const storePurchaseGrantEnded = defineEvent({
  type: 'store_billing.store_purchase.grant_ended',
  summary: 'The store reported a refund, and the grant was ended. The payment stays.',
  advice: 'Show the purchase as ended. Do not change the payment.',
  data: z.object({ store_purchase_id: id, user_id: id, ended_at: timestamp }),
});

export const refundResolved = defineEvent({
  type: 'store_billing.refund.resolved',
  summary: 'An operator resolved an entry of the refund queue. The user is notified.',
  advice: 'Notify the user once for each `id` of an event.',
  data: z.object({
    refund_id: id,
    user_id: id,
    channel: z.string(),
    product_id: z.string(),
    outcome: z.enum(['refunded', 'granted']).meta({
      description: 'refunded: the money was returned; granted: the purchase was granted after all',
    }),
  }),
  consumers: ['identity'],
});

const subscription = z.object({
  subscription_id: id,
  user_id: id,
  type: z.string().meta({ description: 'Premium plan, e.g. `plus`' }),
  starts_at: timestamp.meta({ description: 'When it was granted, `YYYY-MM-DD HH:MM:SS` in UTC' }),
  expires_at: timestamp,
});

export const subscriptionStarted = defineEvent({
  type: 'store_billing.subscription.started',
  summary: 'A premium subscription started. It was bought from an app store or from the wallet.',
  advice: 'Give the user what the subscription includes, until its end.',
  data: subscription,
  consumers: ['identity'],
});

export const subscriptionEnded = defineEvent({
  type: 'store_billing.subscription.ended',
  summary:
    'A premium subscription ended before its time: the store refunded its purchase, or the account was erased. None is published ' +
    'for a subscription that expires.',
  advice: 'Take back what the subscription includes, unless another subscription is running.',
  data: subscription,
  consumers: ['identity'],
});

export const subscriptionExpiring = defineEvent({
  type: 'store_billing.subscription.expiring',
  summary: 'A premium subscription ends within three days. The user is notified.',
  advice: 'Notify the user once for each `id` of an event.',
  data: subscription,
  consumers: ['identity'],
});

const boost = z.object({
  boost_id: id,
  boostable_type: z.enum(['gym', 'training_service']),
  boostable_id: id,
  level: z.int().meta({ description: '1: basic, 2: pro' }),
  starts_at: timestamp.meta({ description: 'When it was granted, `YYYY-MM-DD HH:MM:SS` in UTC' }),
  ends_at: timestamp,
});

export const boostGranted = defineEvent({
  type: 'store_billing.boost.granted',
  summary: 'A boost started. It was bought from an app store or from the wallet.',
  advice: 'Show the target first until the boost ends.',
  data: boost,
  consumers: ['content', 'gyms'],
});

export const boostEnded = defineEvent({
  type: 'store_billing.boost.ended',
  summary: 'A boost ended: it expired, the store refunded its purchase, or its target was deleted.',
  advice: 'Stop showing the target first, unless another boost is running.',
  data: boost,
  consumers: ['content', 'gyms'],
});
