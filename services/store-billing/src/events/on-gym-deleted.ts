import { gymDeleted } from '@fitness/proto/events/gyms.ts';
import { type EventConsumer, onEvent } from '@fitness/shared/events/consumer.ts';
import type { ForgetTarget } from '../app/close-slot.ts';

export const onGymDeleted = (forgetTarget: ForgetTarget): EventConsumer =>
  onEvent(gymDeleted, async ({ data }, { session }) =>
    forgetTarget(session, { type: 'gym', id: data.gym_id }),
  );
