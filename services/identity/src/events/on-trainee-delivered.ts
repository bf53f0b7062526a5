import { traineeDelivered } from '@fitness/proto/events/content.ts';
import { type EventConsumer, onEvent } from '@fitness/shared/messaging/consumer.ts';
import type { UseCases } from '../use-cases.ts';

export const onTraineeDelivered = ({ deliverNotification }: UseCases): EventConsumer =>
  onEvent(traineeDelivered, async ({ data: event, time }, { session }) => {
    const { buyer_user_id: userId, trainee_id, training_service_id, title } = event;
    const data = { trainee_id, training_service_id, title };
    await deliverNotification(session, { userId, type: 'training_service_delivered', data, at: time });
  });
