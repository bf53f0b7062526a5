/** What this service listens to. */
import type { EventConsumer } from '@fitness/shared/events/consumer.ts';
import type { UseCases } from '../app/use-cases.ts';
import { onAccountDeleted } from './on-account-deleted.ts';
import { onStorePurchaseGranted } from './on-store-purchase-granted.ts';

export const createConsumers = ({
  recordStorePurchase,
  eraseUser,
}: Pick<UseCases, 'recordStorePurchase' | 'eraseUser'>): EventConsumer[] => [
  onStorePurchaseGranted(recordStorePurchase),
  onAccountDeleted(eraseUser),
];
