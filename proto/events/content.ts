/** Events that content tells. */
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

/** A training service is gone; boosts on it end. */
export const trainingServiceDeleted = defineEvent({
  type: 'content.training_service.deleted',
  data: z.object({ training_service_id: z.int().positive() }),
});

/** A post is gone, and its media with it. */
export const postDeleted = defineEvent({
  type: 'content.post.deleted',
  data: z.object({ post_id: z.int().positive() }),
});

/** A training service was bought and paid. */
export const traineePurchased = defineEvent({
  type: 'content.trainee.purchased',
  data: z.object({
    trainee_id: z.int().positive(),
    training_service_id: z.int().positive(),
    seller_user_id: z.int().positive(),
    buyer_user_id: z.int().positive(),
  }),
});

/** The seller has delivered what the buyer paid for. */
export const traineeDelivered = defineEvent({
  type: 'content.trainee.delivered',
  data: z.object({
    trainee_id: z.int().positive(),
    training_service_id: z.int().positive(),
    seller_user_id: z.int().positive(),
    buyer_user_id: z.int().positive(),
  }),
});
