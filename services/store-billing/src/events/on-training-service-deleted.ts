import { trainingServiceDeleted } from '@fitness/proto/events/content.ts';
import { type EventConsumer, onEvent } from '@fitness/shared/messaging/consumer.ts';
import type { UseCases } from '../use-cases.ts';

export const onTrainingServiceDeleted = ({ endTargetBoost }: UseCases): EventConsumer =>
  onEvent(trainingServiceDeleted, async ({ data }, { session }) =>
    endTargetBoost(session, { type: 'training_service', id: data.training_service_id }),
  );
