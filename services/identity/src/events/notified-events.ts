/** The events that notify a user. */
import { MODEL } from '@fitness/contracts/model-names.ts';
import type { NotificationContent } from '@fitness/contracts/notifications.ts';
import {
  traineeDelivered,
  traineePurchased,
  trainingServiceBoostEnded,
} from '@fitness/proto/events/content.ts';
import type { EventData, EventDefinition } from '@fitness/proto/events/define-event.ts';
import { gymBoostEnded, gymLicenseReviewed } from '@fitness/proto/events/gyms.ts';
import { accountDeletionRequested } from '@fitness/proto/events/identity.ts';
import { refundResolved, subscriptionExpiring } from '@fitness/proto/events/store-billing.ts';
import { depositReturned, paymentBooked, withdrawalSettled } from '@fitness/proto/events/wallet.ts';
import { type EventConsumer, onEvent } from '@fitness/shared/messaging/consumer.ts';
import { REMOVED_LICENSE } from '../app/notifications/notification-resource.ts';
import type { UseCases } from '../use-cases.ts';

type Consumer = (useCases: UseCases) => EventConsumer;

/** `toNotification` returns undefined for an event that notifies nobody. */
const notifies =
  <Definition extends EventDefinition>(
    definition: Definition,
    toNotification: (data: EventData<Definition>) => (NotificationContent & { userId: number }) | undefined,
  ): Consumer =>
  ({ deliverNotification }) =>
    onEvent(definition, async ({ data, time }, { session }) => {
      const notification = toNotification(data);
      if (notification !== undefined) await deliverNotification(session, { ...notification, at: time });
    });

/** Identity consumes its own event: the inbox delivers the notification exactly once. */
export const onAccountDeletionRequested = notifies(
  accountDeletionRequested,
  ({ user_id: userId, ...data }) => ({ userId, type: 'account_deletion_requested', data }),
);

export const onGymLicenseReviewed = notifies(gymLicenseReviewed, (event) => {
  const { owner_user_id: userId, gym_id, gym_name, approved, rejection_reason } = event;
  const review = approved === null ? REMOVED_LICENSE : { approved, reason: rejection_reason ?? '' };
  return { userId, type: 'gym_license_reviewed', data: { gym_id, gym_name, ...review } };
});

/** Only a deposit is notified: it is credited without a request of the user. */
export const onPaymentBooked = notifies(paymentBooked, ({ user_id: userId, payment_id, type, amount }) =>
  type === 'deposit' ? { userId, type: 'deposit_credited', data: { payment_id, amount } } : undefined,
);

export const onDepositReturned = notifies(depositReturned, ({ user_id: userId, payment_id, amount }) => ({
  userId,
  type: 'deposit_returned',
  data: { payment_id, amount },
}));

export const onWithdrawalSettled = notifies(withdrawalSettled, (event) => {
  const { user_id: userId, payment_id, amount, outcome, reason } = event;
  return outcome === 'paid'
    ? { userId, type: 'withdrawal_paid', data: { payment_id, amount } }
    : { userId, type: 'withdrawal_rejected', data: { payment_id, amount, reason: reason ?? '' } };
});

export const onTraineePurchased = notifies(traineePurchased, (event) => {
  const { seller_user_id: userId, trainee_id, training_service_id, title, price: amount, commission } = event;
  const data = { trainee_id, training_service_id, title, amount, commission };
  return { userId, type: 'training_service_sold', data };
});

export const onTraineeDelivered = notifies(traineeDelivered, (event) => {
  const { buyer_user_id: userId, trainee_id, training_service_id, title } = event;
  return { userId, type: 'training_service_delivered', data: { trainee_id, training_service_id, title } };
});

export const onRefundResolved = notifies(refundResolved, (event) => {
  const { user_id: userId, refund_id, outcome, channel, product_id } = event;
  return { userId, type: 'refund_resolved', data: { refund_id, outcome, channel, product_id } };
});

export const onSubscriptionExpiring = notifies(subscriptionExpiring, (event) => {
  const { user_id: userId, subscription_id, type, expires_at } = event;
  return { userId, type: 'subscription_expiring', data: { subscription_id, type, expires_at } };
});

export const onGymBoostEnded = notifies(gymBoostEnded, (event) => {
  const { owner_user_id: userId, boost_id, gym_id: boostable_id, gym_name: name, level, ended_at } = event;
  const data = { boost_id, boostable_type: MODEL.gym, boostable_id, name, level, ended_at };
  return { userId, type: 'boost_ended', data };
});

export const onTrainingServiceBoostEnded = notifies(trainingServiceBoostEnded, (event) => {
  const { seller_user_id: userId, boost_id, training_service_id, title: name, level, ended_at } = event;
  const boostable = { boostable_type: MODEL.trainingService, boostable_id: training_service_id };
  return { userId, type: 'boost_ended', data: { boost_id, ...boostable, name, level, ended_at } };
});
