import { boostEnded, boostGranted } from '@fitness/proto/events/store-billing.ts';
import { parseTimestamp } from '@fitness/shared/kernel/clock.ts';
import { type EventConsumer, onEvent } from '@fitness/shared/messaging/consumer.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Boost } from '../domain/boost.ts';
import type { UseCases } from '../use-cases.ts';

/** Handles granted and ended events, which have the same data: both say when the boost ends. */
const onBoostEvent = (
  event: typeof boostGranted,
  apply: (session: ClientSession, gymId: number, boost: Boost) => Promise<unknown>,
): EventConsumer =>
  onEvent(event, async ({ data, aggregateVersion: version }, { session }) => {
    if (data.boostable_type !== 'gym') return;
    const [startsAt, endsAt] = [parseTimestamp(data.starts_at), parseTimestamp(data.ends_at)];
    await apply(session, data.boostable_id, {
      id: data.boost_id,
      level: data.level,
      startsAt,
      endsAt,
      version,
    });
  });

export const onBoostChanged = ({ updateBoost, endBoost }: UseCases): EventConsumer[] => [
  onBoostEvent(boostGranted, updateBoost),
  onBoostEvent(boostEnded, endBoost),
];
