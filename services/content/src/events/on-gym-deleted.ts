import { gymDeleted } from '@fitness/proto/events/gyms.ts';
import { type EventConsumer, onEvent } from '@fitness/shared/messaging/consumer.ts';
import { GONE_PROFILE } from '../domain/profile.ts';
import type { UseCases } from '../use-cases.ts';

/** Hides the posts of the gym. A job deletes them. */
export const onGymDeleted = ({ updateProfile }: UseCases): EventConsumer =>
  onEvent(gymDeleted, ({ data, aggregateVersion }, { session }) =>
    updateProfile(session, {
      ref: { kind: 'gym', id: data.gym_id },
      state: GONE_PROFILE,
      version: aggregateVersion,
    }),
  );
