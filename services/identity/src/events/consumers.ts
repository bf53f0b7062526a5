/** What identity listens to. */
import type { EventConsumer } from '@fitness/shared/events/consumer.ts';
import { type NotifyParts, onAccountDeletionRequested } from './on-account-deletion-requested.ts';
import { onGymLicenseReviewed } from './on-gym-license-reviewed.ts';

export const createConsumers = (parts: NotifyParts): EventConsumer[] => [
  onAccountDeletionRequested(parts),
  onGymLicenseReviewed(parts),
];
