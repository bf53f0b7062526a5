import { gymChanged } from '@fitness/proto/events/gyms.ts';
import { type EventConsumer, onEvent } from '@fitness/shared/messaging/consumer.ts';
import type { UseCases } from '../use-cases.ts';

export const onGymChanged = ({ updateProfile }: UseCases): EventConsumer =>
  onEvent(gymChanged, ({ data, aggregateVersion }, { session }) =>
    updateProfile(session, {
      ref: { kind: 'gym', id: data.gym_id },
      state: { ownerUserId: data.user_id, isActive: data.is_active, gone: false },
      version: aggregateVersion,
    }),
  );
