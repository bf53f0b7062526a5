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

/** A training service was bought and paid for. */
export const traineePurchased = defineEvent({
  type: 'content.trainee.purchased',
  data: z.object({
    trainee_id: z.int().positive(),
    training_service_id: z.int().positive(),
    seller_user_id: z.int().positive(),
    buyer_user_id: z.int().positive(),
  }),
});

/** The seller has delivered a bought training service. */
export const traineeDelivered = defineEvent({
  type: 'content.trainee.delivered',
  data: z.object({
    trainee_id: z.int().positive(),
    training_service_id: z.int().positive(),
    seller_user_id: z.int().positive(),
    buyer_user_id: z.int().positive(),
  }),
});
