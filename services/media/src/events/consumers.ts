import type { EventConsumer } from '@fitness/shared/messaging/consumer.ts';
import type { UseCases } from '../use-cases.ts';
import { onAccountDeleted } from './on-account-deleted.ts';
import { onGymDeleted } from './on-gym-deleted.ts';
import { onGymLicenseCleared } from './on-gym-license-cleared.ts';
import { onPostDeleted } from './on-post-deleted.ts';
import { onTrainerLicenseCleared } from './on-trainer-license-cleared.ts';
import { onTrainingServiceDeleted } from './on-training-service-deleted.ts';

export const createConsumers = (useCases: UseCases): EventConsumer[] => [
  onGymLicenseCleared(useCases),
  onTrainerLicenseCleared(useCases),
  onGymDeleted(useCases),
  onPostDeleted(useCases),
  onTrainingServiceDeleted(useCases),
  onAccountDeleted(useCases),
];
