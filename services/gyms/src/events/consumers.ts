import type { EventConsumer } from '@fitness/shared/messaging/consumer.ts';
import type { UseCases } from '../use-cases.ts';
import { onAccountDeleted } from './on-account-deleted.ts';
import { onBoostChanged } from './on-boost-changed.ts';
import { onGymDeleted } from './on-gym-deleted.ts';
import { onMediaAttached } from './on-media-attached.ts';
import { onMediaDeleted } from './on-media-deleted.ts';

export const createConsumers = (useCases: UseCases): EventConsumer[] => [
  onMediaAttached(useCases),
  onMediaDeleted(useCases),
  onAccountDeleted(useCases),
  ...onBoostChanged(useCases),
  onGymDeleted(useCases),
];
