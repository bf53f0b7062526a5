import { boostEnded } from '@fitness/proto/events/store-billing.ts';
import type { EventConsumer } from '@fitness/shared/messaging/consumer.ts';
import type { UseCases } from '../use-cases.ts';
import { onBoostEvent } from './boost-event.ts';

export const onBoostEnded = ({ endBoost }: UseCases): EventConsumer => onBoostEvent(boostEnded, endBoost);
