/** The events that store-billing consumes. */
import type { EventConsumer } from '@fitness/shared/messaging/consumer.ts';
import type { UseCases } from '../use-cases.ts';
import { onAccountDeleted } from './on-account-deleted.ts';
import { onTargetDeleted } from './on-target-deleted.ts';

export const createConsumers = (useCases: UseCases): EventConsumer[] => [
  onAccountDeleted(useCases),
  ...onTargetDeleted(useCases),
];
