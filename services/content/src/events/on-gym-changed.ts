import { gymChanged } from '@fitness/proto/events/gyms.ts';
import { type EventConsumer, onEvent } from '@fitness/shared/events/consumer.ts';
import type { UseCases } from '../app/use-cases.ts';

export const onGymChanged = ({ keepProfile }: UseCases): EventConsumer =>
  onEvent(gymChanged, ({ data, aggregateVersion }, { session }) =>
    keepProfile(session, {
      ref: { kind: 'gym', id: data.gym_id },
      state: { ownerUserId: data.user_id, isActive: data.is_active, gone: false },
      version: aggregateVersion,
    }),
  );
