import { boostEnded, boostGranted } from '@fitness/proto/events/store-billing.ts';

import { type EventConsumer, onEvent } from '@fitness/shared/events/consumer.ts';
import type { UseCases } from '../app/use-cases.ts';
import { parseTimestamp } from '../domain/timestamp.ts';

/** Granted or ended: either tells until when the boost runs. Boosts of gyms are not content's. */
const onBoostTold = (event: typeof boostGranted, { keepBoost }: UseCases): EventConsumer =>
  onEvent(event, async ({ data, aggregateVersion }, { session }) => {
    if (data.boostable_type !== 'training_service') return;
    const boost = {
      id: data.boost_id,
      trainingServiceId: data.boostable_id,
      endsAt: parseTimestamp(data.ends_at),
    };
    await keepBoost(session, boost, aggregateVersion);
  });

export const onBoostGranted = (useCases: UseCases): EventConsumer => onBoostTold(boostGranted, useCases);
export const onBoostEnded = (useCases: UseCases): EventConsumer => onBoostTold(boostEnded, useCases);
