import { MODEL } from '@fitness/contracts/model-names.ts';
import { trainingServiceBoostEnded } from '@fitness/proto/events/content.ts';
import { type EventConsumer, onEvent } from '@fitness/shared/messaging/consumer.ts';
import type { UseCases } from '../use-cases.ts';

export const onTrainingServiceBoostEnded = ({ deliverNotification }: UseCases): EventConsumer =>
  onEvent(trainingServiceBoostEnded, async ({ data: event, time }, { session }) => {
    const {
      seller_user_id: userId,
      boost_id,
      training_service_id: boostable_id,
      title: name,
      level,
      ended_at,
    } = event;
    const data = { boost_id, boostable_type: MODEL.trainingService, boostable_id, name, level, ended_at };
    await deliverNotification(session, { userId, type: 'boost_ended', data, at: time });
  });
