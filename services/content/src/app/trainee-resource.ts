/** The trainee as responses show it. */
import { timestampSchema } from '@fitness/contracts/timestamp.ts';
import { erasedUser, type UserResource, userSchema } from '@fitness/contracts/user.ts';
import { formatTimestamp, formatTimestampOrNull } from '@fitness/shared/kernel/clock.ts';
import { z } from 'zod';
import type { Trainee } from '../domain/trainee.ts';

export const traineeSchema = z
  .object({
    id: z.int(),
    training_service_id: z.int().meta({ description: 'Id of the training service that was bought' }),
    title: z.string().meta({ description: 'Title of the training service at the time of the purchase' }),
    user_id: z.int().meta({ description: 'User id of the buyer' }),
    user: userSchema,
    seller_user_id: z.int().meta({ description: 'User id of the seller' }),
    price: z.int().meta({ description: 'Price that was paid, in Tooman' }),
    status: z.enum(['active', 'delivered']).meta({
      description: '`active`: paid, not yet delivered. `delivered`: marked as delivered by the seller.',
    }),
    delivered_at: timestampSchema
      .nullable()
      .meta({ description: 'When the seller marked it as delivered; null until then' }),
    created_at: timestampSchema,
  })
  .meta({ id: 'Trainee', description: 'A purchase of a training service' });

export type TraineeResource = z.output<typeof traineeSchema>;

/** `trainee` is paid. `buyers` are as the viewer may see them; a missing buyer is shown as erased. */
export const toTraineeResource = (
  trainee: Trainee,
  buyers: ReadonlyMap<number, UserResource>,
): TraineeResource => ({
  id: trainee.traineeId,
  training_service_id: trainee.trainingServiceId,
  title: trainee.title,
  user_id: trainee.buyerUserId,
  user:
    buyers.get(trainee.buyerUserId) ?? erasedUser(trainee.buyerUserId, formatTimestamp(trainee.createdAt)),
  seller_user_id: trainee.sellerUserId,
  price: trainee.price,
  status: trainee.status === 'delivered' ? 'delivered' : 'active',
  delivered_at: formatTimestampOrNull(trainee.deliveredAt),
  created_at: formatTimestamp(trainee.createdAt),
});
