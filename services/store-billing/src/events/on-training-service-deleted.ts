import { trainingServiceDeleted } from '@fitness/proto/events/content.ts';
import { type EventConsumer, onEvent } from '@fitness/shared/events/consumer.ts';
import type { ForgetTarget } from '../app/close-slot.ts';

export const onTrainingServiceDeleted = (forgetTarget: ForgetTarget): EventConsumer =>
  onEvent(trainingServiceDeleted, async ({ data }, { session }) =>
    forgetTarget(session, { type: 'training_service', id: data.training_service_id }),
  );
