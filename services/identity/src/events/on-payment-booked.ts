import { paymentBooked } from '@fitness/proto/events/wallet.ts';
import { type EventConsumer, onEvent } from '@fitness/shared/messaging/consumer.ts';
import type { UseCases } from '../use-cases.ts';

/** Only a deposit is notified: it is credited without a request of the user. */
export const onPaymentBooked = ({ deliverNotification }: UseCases): EventConsumer =>
  onEvent(
    paymentBooked,
    async ({ data: { payment_id, user_id: userId, type, amount }, time }, { session }) => {
      if (type !== 'deposit') return;
      const data = { payment_id, amount };
      await deliverNotification(session, { userId, type: 'deposit_credited', data, at: time });
    },
  );
