import { gymDeleted } from '@fitness/proto/events/gyms.ts';
import { type EventConsumer, onEvent } from '@fitness/shared/events/consumer.ts';
import { MODEL } from '@fitness/shared/models.ts';
import type { ForgetTarget } from '../app/forget-target.ts';

export const onGymDeleted = (forgetTarget: ForgetTarget): EventConsumer =>
  onEvent(gymDeleted, ({ data }) => forgetTarget({ attachable_type: MODEL.gym, attachable_id: data.gym_id }));
