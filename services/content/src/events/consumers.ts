import type { EventConsumer } from '@fitness/shared/messaging/consumer.ts';
import type { UseCases } from '../use-cases.ts';
import { onAccountDeleted } from './on-account-deleted.ts';
import { onBoostChanged } from './on-boost-changed.ts';
import { onGymChanged } from './on-gym-changed.ts';
import { onGymDeleted } from './on-gym-deleted.ts';
import { onMediaChanged } from './on-media-changed.ts';
import { onTrainingServiceDeleted } from './on-training-service-deleted.ts';

export const createConsumers = (useCases: UseCases): EventConsumer[] => [
  onGymChanged(useCases),
  onGymDeleted(useCases),
  onAccountDeleted(useCases),
  ...onBoostChanged(useCases),
  ...onMediaChanged(useCases),
  onTrainingServiceDeleted(useCases),
];
