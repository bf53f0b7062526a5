import { trainingServiceDeleted } from '@fitness/proto/events/content.ts';
import { type EventConsumer, onEvent } from '@fitness/shared/events/consumer.ts';
import { MODEL } from '@fitness/shared/models.ts';
import type { ForgetTarget } from '../app/forget-target.ts';

export const onTrainingServiceDeleted = (forgetTarget: ForgetTarget): EventConsumer =>
  onEvent(trainingServiceDeleted, ({ data }) =>
    forgetTarget({ attachable_type: MODEL.trainingService, attachable_id: data.training_service_id }),
  );
