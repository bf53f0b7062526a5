/** The events that identity consumes. */
import type { EventConsumer } from '@fitness/shared/messaging/consumer.ts';
import type { UseCases } from '../use-cases.ts';
import { onAccountDeleted } from './on-account-deleted.ts';
import { onAccountDeletionRequested } from './on-account-deletion-requested.ts';
import { onDepositReturned } from './on-deposit-returned.ts';
import { onGymBoostEnded } from './on-gym-boost-ended.ts';
import { onGymLicenseReviewed } from './on-gym-license-reviewed.ts';
import { onMediaAttached } from './on-media-attached.ts';
import { onMediaDeleted } from './on-media-deleted.ts';
import { onNotificationEmailRequested } from './on-notification-email-requested.ts';
import { onNotificationPushRequested } from './on-notification-push-requested.ts';
import { onPaymentBooked } from './on-payment-booked.ts';
import { onRefundResolved } from './on-refund-resolved.ts';
import { onSecuritySmsRequested } from './on-security-sms-requested.ts';
import { onSubscriptionExpiring } from './on-subscription-expiring.ts';
import { onTraineeDelivered } from './on-trainee-delivered.ts';
import { onTraineePurchased } from './on-trainee-purchased.ts';
import { onTrainingServiceBoostEnded } from './on-training-service-boost-ended.ts';
import { onWithdrawalSettled } from './on-withdrawal-settled.ts';

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
  onSubscriptionExpiring(useCases),
  onGymBoostEnded(useCases),
  onTrainingServiceBoostEnded(useCases),
];
