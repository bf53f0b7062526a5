/** What store-billing listens to. */
import type { EventConsumer } from '@fitness/shared/events/consumer.ts';
import type { ForgetTarget, ForgetUser } from '../app/close-slot.ts';
import { onAccountDeleted } from './on-account-deleted.ts';
import { onGymDeleted } from './on-gym-deleted.ts';
import { onTrainingServiceDeleted } from './on-training-service-deleted.ts';

export const createConsumers = (parts: {
  forgetUser: ForgetUser;
  forgetTarget: ForgetTarget;
}): EventConsumer[] => [
  onAccountDeleted(parts.forgetUser),
  onGymDeleted(parts.forgetTarget),
  onTrainingServiceDeleted(parts.forgetTarget),
];
