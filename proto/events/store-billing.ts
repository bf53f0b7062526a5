/** Events that store-billing tells. Timestamps are `YYYY-MM-DD HH:MM:SS`, UTC; amounts are whole Tooman. */
import { z } from 'zod';
import { defineEvent } from './define-event.ts';

const id = z.int().positive();

/** A store purchase was granted; the wallet books its `store_purchase` payment from this, once. */
export const storePurchaseGranted = defineEvent({
  type: 'store_billing.store_purchase.granted',
  data: z.object({
    store_purchase_id: id,
    user_id: id,
    channel: z.string(),
    product_id: z.string(),
    amount: z.int().nonnegative(),
    payable_type: z.string(),
    payable_id: id,
  }),
});

/** The store reported a refund and the grant was ended; the payment row stays. */
export const storePurchaseGrantEnded = defineEvent({
  type: 'store_billing.store_purchase.grant_ended',
  data: z.object({ store_purchase_id: id, user_id: id, ended_at: z.string() }),
});

/** A subscription began, bought at a store or from the wallet. */
export const subscriptionStarted = defineEvent({
  type: 'store_billing.subscription.started',
  data: z.object({
    subscription_id: id,
    user_id: id,
    type: z.string(),
    starts_at: z.string(),
    expires_at: z.string(),
  }),
});

const boost = z.object({
  boost_id: id,
  boostable_type: z.enum(['gym', 'training_service']),
  boostable_id: id,
  level: z.int(),
  starts_at: z.string(),
  ends_at: z.string(),
});

/** A boost began, bought at a store or from the wallet. */
export const boostGranted = defineEvent({ type: 'store_billing.boost.granted', data: boost });

/** A boost has ended: it ran out, the store took its purchase back, or its target is gone. */
export const boostEnded = defineEvent({ type: 'store_billing.boost.ended', data: boost });
