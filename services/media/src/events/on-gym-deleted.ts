import { MODEL } from '@fitness/contracts/model-names.ts';
import { gymDeleted } from '@fitness/proto/events/gyms.ts';
import { type EventConsumer, onEvent } from '@fitness/shared/messaging/consumer.ts';
import type { UseCases } from '../use-cases.ts';

export const onGymDeleted = ({ deleteMediaOfTarget }: UseCases): EventConsumer =>
  onEvent(gymDeleted, ({ data }) =>
    deleteMediaOfTarget({ attachable_type: MODEL.gym, attachable_id: data.gym_id }),
  );
