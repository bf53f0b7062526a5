import { depositReturned } from '@fitness/proto/events/wallet.ts';
import { type EventConsumer, onEvent } from '@fitness/shared/messaging/consumer.ts';
import type { UseCases } from '../use-cases.ts';

export const onDepositReturned = ({ deliverNotification }: UseCases): EventConsumer =>
  onEvent(depositReturned, async ({ data: event, time }, { session }) => {
    const { user_id: userId, payment_id, amount } = event;
    const data = { payment_id, amount };
    await deliverNotification(session, { userId, type: 'deposit_returned', data, at: time });
  });
