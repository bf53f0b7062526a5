/** Events that content publishes. */
import { z } from 'zod';
import { defineEvent } from './define-event.ts';

export const trainingServiceChanged = defineEvent({
  type: 'content.training_service.changed',
  summary: 'A training service was created or changed.',
  advice: 'Replace what you keep of the training service, unless your copy has a larger `aggregateversion`.',
  data: z.object({
    training_service_id: z.int().positive(),
    user_id: z.int().positive(),
    is_active: z.boolean(),
  }),
});

export const trainingServiceDeleted = defineEvent({
  type: 'content.training_service.deleted',
  summary: 'A training service was deleted. Its media are deleted and its boosts end.',
  advice: 'Delete what you keep of the training service, and end its boosts.',
  data: z.object({ training_service_id: z.int().positive() }),
  consumers: ['content', 'media', 'store-billing'],
});

export const postDeleted = defineEvent({
  type: 'content.post.deleted',
  summary: 'A post was deleted. Its media are deleted.',
  advice: 'Delete what you keep of the post and its files.',
  data: z.object({ post_id: z.int().positive() }),
  consumers: ['media'],
});

const trainee = z.object({
  trainee_id: z.int().positive(),
  training_service_id: z.int().positive(),
  title: z.string().meta({
    description: 'Title at the time of the purchase, which the buyer keeps when the seller is erased',
  }),
  seller_user_id: z.int().positive(),
  buyer_user_id: z.int().positive(),
});

export const traineePurchased = defineEvent({
  type: 'content.trainee.purchased',
  summary: 'A training service was bought and paid for. The seller is notified.',
  advice: 'Notify the seller once for each `id` of an event.',
  data: trainee.extend({
    price: z.int().nonnegative().meta({ description: 'In Tooman' }),
    commission: z.int().nonnegative().meta({ description: 'In Tooman' }),
  }),
  consumers: ['identity'],
});

export const traineeDelivered = defineEvent({
  type: 'content.trainee.delivered',
  summary: 'The seller delivered a training service that was bought. The buyer is notified.',
  advice: 'Notify the buyer once for each `id` of an event.',
  data: trainee,
  consumers: ['identity'],
});

export const trainingServiceBoostEnded = defineEvent({
  type: 'content.training_service.boost_ended',
  summary: 'The boost of a training service ended. The seller is notified.',
  advice: 'Notify the seller once for each `id` of an event.',
  data: z.object({
    boost_id: z.int().positive(),
    training_service_id: z.int().positive(),
    title: z.string(),
    seller_user_id: z.int().positive(),
    level: z.int().meta({ description: '1: basic, 2: pro' }),
    ended_at: z.string().meta({ description: '`YYYY-MM-DD HH:MM:SS` in UTC' }),
  }),
  consumers: ['identity'],
  personalTo: ({ seller_user_id: sellerId }) => sellerId,
});
