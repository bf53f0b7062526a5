/** Events that content publishes. */
import { z } from 'zod';
import { defineEvent } from './define-event.ts';

/** A training service was created or changed. */
export const trainingServiceChanged = defineEvent({
  type: 'content.training_service.changed',
  data: z.object({
    training_service_id: z.int().positive(),
    user_id: z.int().positive(),
    is_active: z.boolean(),
  }),
});

/** A training service was deleted; its boosts end. */
export const trainingServiceDeleted = defineEvent({
  type: 'content.training_service.deleted',
  data: z.object({ training_service_id: z.int().positive() }),
  consumers: ['media', 'store-billing'],
});

/** A post was deleted; its media are deleted. */
export const postDeleted = defineEvent({
  type: 'content.post.deleted',
  data: z.object({ post_id: z.int().positive() }),
  consumers: ['media'],
});

/** The title is that of the purchase, which the buyer keeps when the seller is erased. */
const trainee = z.object({
  trainee_id: z.int().positive(),
  training_service_id: z.int().positive(),
  title: z.string(),
  seller_user_id: z.int().positive(),
  buyer_user_id: z.int().positive(),
});

/** A training service was bought and paid for; the seller is notified. Amounts are whole Tooman. */
export const traineePurchased = defineEvent({
  type: 'content.trainee.purchased',
  data: trainee.extend({ price: z.int().nonnegative(), commission: z.int().nonnegative() }),
  consumers: ['identity'],
});

/** The seller has delivered a bought training service; the buyer is notified. */
export const traineeDelivered = defineEvent({
  type: 'content.trainee.delivered',
  data: trainee,
  consumers: ['identity'],
});

/** A boost of a training service ended; its seller is notified. */
export const trainingServiceBoostEnded = defineEvent({
  type: 'content.training_service.boost_ended',
  data: z.object({
    boost_id: z.int().positive(),
    training_service_id: z.int().positive(),
    title: z.string(),
    seller_user_id: z.int().positive(),
    level: z.int(),
    /** `YYYY-MM-DD HH:MM:SS`, UTC. */
    ended_at: z.string(),
  }),
  consumers: ['identity'],
  personalTo: ({ seller_user_id: sellerId }) => sellerId,
});
