import type { EventConsumer } from '@fitness/shared/messaging/consumer.ts';
import type { UseCases } from '../use-cases.ts';
import { onAccountDeleted } from './on-account-deleted.ts';
import { onBoostEnded } from './on-boost-ended.ts';
import { onBoostGranted } from './on-boost-granted.ts';
import { onGymDeleted } from './on-gym-deleted.ts';
import { onMediaAttached } from './on-media-attached.ts';
import { onMediaDeleted } from './on-media-deleted.ts';

export const createConsumers = (useCases: UseCases): EventConsumer[] => [
  onMediaAttached(useCases),
  onMediaDeleted(useCases),
  onAccountDeleted(useCases),
  onBoostGranted(useCases),
  onBoostEnded(useCases),
  onGymDeleted(useCases),
];
