/** The events that identity consumes. */
import type { EventConsumer } from '@fitness/shared/messaging/consumer.ts';
import type { UseCases } from '../use-cases.ts';
import {
  onAccountDeletionRequested,
  onDepositReturned,
  onGymBoostEnded,
  onGymLicenseReviewed,
  onPaymentBooked,
  onRefundResolved,
  onSubscriptionExpiring,
  onTraineeDelivered,
  onTraineePurchased,
  onTrainingServiceBoostEnded,
  onWithdrawalSettled,
} from './notified-events.ts';
import { onAccountDeleted } from './on-account-deleted.ts';
import { onMediaAttached } from './on-media-attached.ts';
import { onMediaDeleted } from './on-media-deleted.ts';
import { onNotificationEmailRequested } from './on-notification-email-requested.ts';
import { onNotificationPushRequested } from './on-notification-push-requested.ts';
import { onSecuritySmsRequested } from './on-security-sms-requested.ts';
import { onSubscriptionChanged } from './on-subscription-changed.ts';

export const createConsumers = (useCases: UseCases): EventConsumer[] => [
  onAccountDeletionRequested(useCases),
  onAccountDeleted(useCases),
  onGymLicenseReviewed(useCases),
  onMediaAttached(useCases),
  onMediaDeleted(useCases),
  onNotificationPushRequested(useCases),
  onNotificationEmailRequested(useCases),
  onPaymentBooked(useCases),
  onSecuritySmsRequested(useCases),
  onDepositReturned(useCases),
  onWithdrawalSettled(useCases),
  onTraineePurchased(useCases),
  onTraineeDelivered(useCases),
  onRefundResolved(useCases),
  ...onSubscriptionChanged(useCases),
  onSubscriptionExpiring(useCases),
  onGymBoostEnded(useCases),
  onTrainingServiceBoostEnded(useCases),
];
