import { boostEnded, boostGranted } from '@fitness/proto/events/store-billing.ts';
import { parseTimestamp } from '@fitness/shared/kernel/clock.ts';
import { type EventConsumer, onEvent } from '@fitness/shared/messaging/consumer.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Boost } from '../domain/boost.ts';
import type { UseCases } from '../use-cases.ts';

/** Handles granted and ended events, which have the same data, including the end of the boost. Ignores boosts of gyms. */
const onBoostEvent = (
  event: typeof boostGranted,
  apply: (session: ClientSession, boost: Boost, version: number) => Promise<unknown>,
): EventConsumer =>
  onEvent(event, async ({ data, aggregateVersion }, { session }) => {
    if (data.boostable_type !== 'training_service') return;
    const boost = {
      id: data.boost_id,
      trainingServiceId: data.boostable_id,
      level: data.level,
      startsAt: parseTimestamp(data.starts_at),
      endsAt: parseTimestamp(data.ends_at),
    };
    await apply(session, boost, aggregateVersion);
  });

export const onBoostChanged = ({ updateBoost, endBoost }: UseCases): EventConsumer[] => [
  onBoostEvent(boostGranted, updateBoost),
  onBoostEvent(boostEnded, endBoost),
];
