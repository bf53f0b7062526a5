import { withdrawalSettled } from '@fitness/proto/events/wallet.ts';
import { type EventConsumer, onEvent } from '@fitness/shared/messaging/consumer.ts';
import type { UseCases } from '../use-cases.ts';

export const onWithdrawalSettled = ({ deliverNotification }: UseCases): EventConsumer =>
  onEvent(withdrawalSettled, async ({ data: event, time }, { session }) => {
    const { payment_id, user_id: userId, amount, outcome, reason } = event;
    const notification =
      outcome === 'paid'
        ? ({ type: 'withdrawal_paid', data: { payment_id, amount } } as const)
        : ({ type: 'withdrawal_rejected', data: { payment_id, amount, reason: reason ?? '' } } as const);
    await deliverNotification(session, { ...notification, userId, at: time });
  });
