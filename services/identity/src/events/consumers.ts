/** What identity listens to. */
import type { EventConsumer } from '@fitness/shared/events/consumer.ts';
import type { AttachLicence, ForgetLicence } from '../app/license-document.ts';
import type { Notifications } from '../app/notifications.ts';
import { onAccountDeleted } from './on-account-deleted.ts';
import { onAccountDeletionRequested } from './on-account-deletion-requested.ts';
import { onGymLicenseReviewed } from './on-gym-license-reviewed.ts';
import { onMediaAttached } from './on-media-attached.ts';
import { onMediaDeleted } from './on-media-deleted.ts';

export interface ConsumerParts {
  notifications: Notifications;
  attachLicence: AttachLicence;
  forgetLicence: ForgetLicence;
}

export const createConsumers = ({
  notifications,
  attachLicence,
  forgetLicence,
}: ConsumerParts): EventConsumer[] => [
  onAccountDeletionRequested(notifications),
  onAccountDeleted(),
  onGymLicenseReviewed(notifications),
  onMediaAttached(attachLicence),
  onMediaDeleted(forgetLicence),
];
