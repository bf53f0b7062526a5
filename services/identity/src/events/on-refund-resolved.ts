import { refundResolved } from '@fitness/proto/events/store-billing.ts';
import { type EventConsumer, onEvent } from '@fitness/shared/messaging/consumer.ts';
import type { UseCases } from '../use-cases.ts';

export const onRefundResolved = ({ deliverNotification }: UseCases): EventConsumer =>
  onEvent(refundResolved, async ({ data: event, time }, { session }) => {
    const { user_id: userId, refund_id, outcome, channel, product_id } = event;
    const data = { refund_id, outcome, channel, product_id };
    await deliverNotification(session, { userId, type: 'refund_resolved', data, at: time });
  });
