import type { EventConsumer } from '@fitness/shared/messaging/consumer.ts';
import type { UseCases } from '../use-cases.ts';
import { onAccountDeleted } from './on-account-deleted.ts';
import { onBoostEnded } from './on-boost-ended.ts';
import { onBoostGranted } from './on-boost-granted.ts';
import { onGymChanged } from './on-gym-changed.ts';
import { onGymDeleted } from './on-gym-deleted.ts';
import { onMediaChanged } from './on-media-changed.ts';
import { onTrainingServiceDeleted } from './on-training-service-deleted.ts';

export const createConsumers = (useCases: UseCases): EventConsumer[] => [
  onGymChanged(useCases),
  onGymDeleted(useCases),
  onAccountDeleted(useCases),
  onBoostGranted(useCases),
  onBoostEnded(useCases),
  ...onMediaChanged(useCases),
  onTrainingServiceDeleted(useCases),
];
