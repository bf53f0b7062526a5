/** What content listens to. */
import type { EventConsumer } from '@fitness/shared/events/consumer.ts';
import type { UseCases } from '../app/use-cases.ts';
import { onAccountDeleted } from './on-account-deleted.ts';
import { onBoostEnded, onBoostGranted } from './on-boost-told.ts';
import { onGymChanged } from './on-gym-changed.ts';
import { onGymDeleted } from './on-gym-deleted.ts';

export const createConsumers = (useCases: UseCases): EventConsumer[] => [
  onGymChanged(useCases),
  onGymDeleted(useCases),
  onAccountDeleted(useCases),
  onBoostGranted(useCases),
  onBoostEnded(useCases),
];
