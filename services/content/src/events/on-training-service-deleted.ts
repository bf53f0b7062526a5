import { trainingServiceDeleted } from '@fitness/proto/events/content.ts';
import { type EventConsumer, onEvent } from '@fitness/shared/messaging/consumer.ts';
import type { UseCases } from '../use-cases.ts';

export const onTrainingServiceDeleted = ({ deleteBoosts }: UseCases): EventConsumer =>
  onEvent(trainingServiceDeleted, ({ data }, { session }) => deleteBoosts(session, data.training_service_id));
