import { gymDeleted } from '@fitness/proto/events/gyms.ts';
import { type EventConsumer, onEvent } from '@fitness/shared/messaging/consumer.ts';
import type { UseCases } from '../use-cases.ts';

export const onGymDeleted = ({ deleteRatings }: UseCases): EventConsumer =>
  onEvent(gymDeleted, ({ data }, { session }) => deleteRatings(session, data.gym_id));
