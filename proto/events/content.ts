/** Events that content publishes. */
import { z } from 'zod';
import { defineEvent } from './define-event.ts';

export const trainingServiceChanged = defineEvent({
  type: 'content.training_service.changed',
  summary: 'A training service was created or changed.',
  data: z.object({
    training_service_id: z.int().positive(),
    user_id: z.int().positive(),
    is_active: z.boolean(),
  }),
});

export const trainingServiceDeleted = defineEvent({
  type: 'content.training_service.deleted',
  summary: 'A training service was deleted; its media are deleted and its boosts end.',
  data: z.object({ training_service_id: z.int().positive() }),
  consumers: ['content', 'media', 'store-billing'],
});

export const postDeleted = defineEvent({
  type: 'content.post.deleted',
  summary: 'A post was deleted; its media are deleted.',
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

export const traineePurchased = defineEvent({
  type: 'content.trainee.purchased',
  summary: 'A training service was bought and paid for; the seller is notified. Amounts are whole Tooman.',
  data: trainee.extend({ price: z.int().nonnegative(), commission: z.int().nonnegative() }),
  consumers: ['identity'],
});

export const traineeDelivered = defineEvent({
  type: 'content.trainee.delivered',
  summary: 'The seller has delivered a bought training service; the buyer is notified.',
  data: trainee,
  consumers: ['identity'],
});

export const trainingServiceBoostEnded = defineEvent({
  type: 'content.training_service.boost_ended',
  summary: 'A boost of a training service ended; its seller is notified.',
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
