/** The trainee as responses show it. */
import { erasedUser, type UserResource, userSchema } from '@fitness/contracts/user.ts';
import { formatTimestamp, formatTimestampOrNull } from '@fitness/shared/kernel/clock.ts';
import { z } from 'zod';
import type { Trainee } from '../domain/trainee.ts';

export const traineeSchema = z
  .object({
    id: z.int(),
    training_service_id: z.int(),
    title: z.string().meta({ description: 'Of the training service when it was bought' }),
    user_id: z.int().meta({ description: 'The buyer' }),
    user: userSchema,
    seller_user_id: z.int(),
    price: z.int(),
    status: z.enum(['active', 'delivered']),
    delivered_at: z.string().nullable(),
    created_at: z.string(),
  })
  .meta({ id: 'Trainee' });

export type TraineeResource = z.output<typeof traineeSchema>;

/** A paid trainee. `buyers`: as the viewer may see them; a missing one is shown as erased. */
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
