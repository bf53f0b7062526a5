/** Every event consumer of the wallet. */
import type { EventConsumer } from '@fitness/shared/messaging/consumer.ts';
import type { UseCases } from '../use-cases.ts';
import { onAccountDeleted } from './on-account-deleted.ts';
import { onStorePurchaseGranted } from './on-store-purchase-granted.ts';

export const createConsumers = (useCases: UseCases): EventConsumer[] => [
  onStorePurchaseGranted(useCases),
  onAccountDeleted(useCases),
];
