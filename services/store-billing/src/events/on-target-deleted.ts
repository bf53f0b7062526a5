import { trainingServiceDeleted } from '@fitness/proto/events/content.ts';
import { gymDeleted } from '@fitness/proto/events/gyms.ts';
import { type EventConsumer, onEvent } from '@fitness/shared/messaging/consumer.ts';
import type { UseCases } from '../use-cases.ts';

export const onTargetDeleted = ({ endTargetBoost }: UseCases): EventConsumer[] => [
  onEvent(gymDeleted, async ({ data }, { session }) =>
    endTargetBoost(session, { type: 'gym', id: data.gym_id }),
  ),
  onEvent(trainingServiceDeleted, async ({ data }, { session }) =>
    endTargetBoost(session, { type: 'training_service', id: data.training_service_id }),
  ),
];
