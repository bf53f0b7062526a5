import { MODEL } from '@fitness/contracts/model-names.ts';
import { postDeleted, trainingServiceDeleted } from '@fitness/proto/events/content.ts';
import { gymDeleted } from '@fitness/proto/events/gyms.ts';
import { type EventConsumer, onEvent } from '@fitness/shared/messaging/consumer.ts';
import type { UseCases } from '../use-cases.ts';

export const onTargetDeleted = ({ deleteMediaOfTarget }: UseCases): EventConsumer[] => [
  onEvent(gymDeleted, ({ data }) =>
    deleteMediaOfTarget({ attachable_type: MODEL.gym, attachable_id: data.gym_id }),
  ),
  onEvent(postDeleted, ({ data }) =>
    deleteMediaOfTarget({ attachable_type: MODEL.post, attachable_id: data.post_id }),
  ),
  onEvent(trainingServiceDeleted, ({ data }) =>
    deleteMediaOfTarget({ attachable_type: MODEL.trainingService, attachable_id: data.training_service_id }),
  ),
];
