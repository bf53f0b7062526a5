/** What identity listens to. */
import type { EventConsumer } from '@fitness/shared/events/consumer.ts';
import type { Notifications } from '../app/notifications.ts';
import { onAccountDeletionRequested } from './on-account-deletion-requested.ts';
import { onGymLicenseReviewed } from './on-gym-license-reviewed.ts';

export const createConsumers = (notifications: Notifications): EventConsumer[] => [
  onAccountDeletionRequested(notifications),
  onGymLicenseReviewed(notifications),
];
