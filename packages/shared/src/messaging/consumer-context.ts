/** What the consumers of one process share. */
import type { ConfirmChannel } from 'amqplib';
import type { Clock } from '../kernel/clock.ts';
import type { FairQueue } from '../kernel/fair-queue.ts';
import type { KeyedQueue } from '../kernel/keyed-queue.ts';
import type { Logger } from '../kernel/log.ts';
import type { Connection } from '../mongo/connect.ts';
import type { Broker } from './broker.ts';
import type { EventConsumer } from './consumer.ts';
import type { EraseDeadLetters } from './erase-dead-letters.ts';
import { RETRY_DELAYS_MS } from './topology.ts';

export const EVENT_OUTCOMES = ['done', 'duplicate', 'retried', 'dead'] as const;
export type EventOutcome = (typeof EVENT_OUTCOMES)[number];

export interface ConsumersOptions {
  connection: Connection;
  broker: Broker;
  /** Names the service's queues. */
  service: string;
  consumers: readonly EventConsumer[];
  log: Logger;
  clock?: Clock | undefined;
  /** Delays of the tries after the first, in milliseconds. Part of the names of the queues in which events wait. */
  retryDelaysMs?: readonly number[] | undefined;
  /** Events handled at the same time by this process. Default 20; tests lower it to reach it with few messages. */
  prefetch?: number | undefined;
  /** Called for every event and consumer, for metrics. */
  onOutcome?: ((type: string, outcome: EventOutcome) => void) | undefined;
}

/** Dependencies of the handling of every delivery. */
export interface ConsumerContext extends ConsumersOptions {
  eraseDeadLetters: EraseDeadLetters;
  keyedQueue: KeyedQueue;
  /** A round robin of the queues: many events of one type do not delay the others. */
  turns: FairQueue;
  /** Closed channels. The broker redelivers their unacked messages. */
  closedChannels: WeakSet<ConfirmChannel>;
}

export const topologyOf = ({
  broker,
  service,
  consumers,
  retryDelaysMs = RETRY_DELAYS_MS,
}: ConsumerContext) => ({
  namespace: broker.namespace,
  service,
  consumers: consumers.map(({ name, event }) => ({ name, type: event.type })),
  retryDelaysMs,
  topology: broker.topology,
});
