import { MODEL } from '@fitness/contracts/model-names.ts';
import { trainingServiceDeleted } from '@fitness/proto/events/content.ts';
import { type EventConsumer, onEvent } from '@fitness/shared/messaging/consumer.ts';
import type { UseCases } from '../use-cases.ts';

export const onTrainingServiceDeleted = ({ deleteMediaOfTarget }: UseCases): EventConsumer =>
  onEvent(trainingServiceDeleted, ({ data }) =>
    deleteMediaOfTarget({ attachable_type: MODEL.trainingService, attachable_id: data.training_service_id }),
  );
