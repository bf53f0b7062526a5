import { gymDeleted } from '@fitness/proto/events/gyms.ts';
import { type EventConsumer, onEvent } from '@fitness/shared/events/consumer.ts';
import { GONE } from '../app/keep-profiles.ts';
import type { UseCases } from '../app/use-cases.ts';

/** Its posts are hidden at once and deleted one after the other by a job. */
export const onGymDeleted = ({ keepProfile }: UseCases): EventConsumer =>
  onEvent(gymDeleted, ({ data, aggregateVersion }, { session }) =>
    keepProfile(session, {
      ref: { kind: 'gym', id: data.gym_id },
      state: GONE,
      version: aggregateVersion,
    }),
  );
