import { traineePurchased } from '@fitness/proto/events/content.ts';
import { type EventConsumer, onEvent } from '@fitness/shared/messaging/consumer.ts';
import type { UseCases } from '../use-cases.ts';

export const onTraineePurchased = ({ deliverNotification }: UseCases): EventConsumer =>
  onEvent(traineePurchased, async ({ data: event, time }, { session }) => {
    const { seller_user_id: userId, trainee_id, training_service_id, title, price, commission } = event;
    const data = { trainee_id, training_service_id, title, amount: price, commission };
    await deliverNotification(session, { userId, type: 'training_service_sold', data, at: time });
  });
