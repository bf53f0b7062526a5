/** The events that store-billing consumes. */
import type { EventConsumer } from '@fitness/shared/messaging/consumer.ts';
import type { UseCases } from '../use-cases.ts';
import { onAccountDeleted } from './on-account-deleted.ts';
import { onGymDeleted } from './on-gym-deleted.ts';
import { onTrainingServiceDeleted } from './on-training-service-deleted.ts';

export const createConsumers = (useCases: UseCases): EventConsumer[] => [
  onAccountDeleted(useCases),
  onGymDeleted(useCases),
  onTrainingServiceDeleted(useCases),
];
