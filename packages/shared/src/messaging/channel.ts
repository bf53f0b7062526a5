/** A channel that is reopened and set up again whenever it is lost. */
import type { Channel, ChannelModel, ConfirmChannel } from 'amqplib';
import type { Logger } from '../kernel/log.ts';
import { finishesWithin, jitteredDelayMs, sleep } from '../kernel/timing.ts';
import type { BrokerConnection } from './broker-connection.ts';

const REOPEN_MIN_MS = 100;
const REOPEN_MAX_MS = 5_000;
/** Access refused, not found, locked, precondition failed: repeating these at start would hide a mistake. */
const REFUSALS = new Set([403, 404, 405, 406]);

export interface ManagedChannel {
  /** The open channel after its setup; undefined while there is none. */
  current(): ConfirmChannel | undefined;
  /** Closes it; it is not opened again. */
  close(): Promise<void>;
}

/** How long a shutdown waits for a broker that may no longer respond. */
const CANCEL_TIMEOUT_MS = 1_000;
const CLOSE_TIMEOUT_MS = 500;

/** Closes a channel. The promise of amqplib never settles if the connection breaks meanwhile. */
export const closeChannel = async (channel: Channel): Promise<void> => {
  const closed = new Promise<void>((resolve) => channel.once('close', resolve));
  const ended = Promise.race([channel.close().catch(() => undefined), closed]);
  await finishesWithin(ended, CLOSE_TIMEOUT_MS);
};

/** Stops further deliveries. Messages that were delivered can still be acked. */
export const stopConsuming = async (channel: Channel | undefined, consumerTag: string): Promise<void> => {
  if (channel === undefined) return;
  const cancelled = channel.cancel(consumerTag).catch(() => undefined);
  await finishesWithin(cancelled, CANCEL_TIMEOUT_MS);
};

interface ManagedChannelOptions {
  connection: BrokerConnection;
  name: string;
  setup: (channel: ConfirmChannel) => Promise<void>;
  log: Logger;
}

/** See `Broker.openChannel`. */
export const openManagedChannel = (options: ManagedChannelOptions): Promise<ManagedChannel> =>
  new Promise((resolve, reject) => {
    const { connection, name, log } = options;
    let current: ConfirmChannel | undefined;
    /** Whether the promise for the caller has settled: the setup ended, was refused, or there is no connection yet. */
    let settled = false;
    let closed = false;
    let opening = false;

    const managed: ManagedChannel = {
      current: () => current,
      close: async () => {
        closed = true;
        unsubscribe();
        const channel = current;
        current = undefined;
        if (channel !== undefined) await closeChannel(channel);
      },
    };

    const lost = (channel: ConfirmChannel): void => {
      if (current !== channel) return;
      current = undefined;
      void keepOpen();
    };

    /** Opens the channel, one attempt at a time. Ends without one when there is no connection. */
    const keepOpen = async (): Promise<void> => {
      if (opening) return;
      opening = true;
      for (let attempt = 1; !closed && current === undefined; attempt += 1) {
        const live = connection.current();
        if (live === undefined) break;
        try {
          current = await openOnce(live, options, lost);
          settled = true;
          resolve(managed);
        } catch (error) {
          if (!settled && REFUSALS.has((error as { code?: number }).code ?? 0)) {
            closed = true;
            unsubscribe();
            reject(error as Error);
          } else if (connection.current() === live) {
            log.warn({ err: error, channel: name }, 'RabbitMQ channel could not be opened; trying again');
            await sleep(jitteredDelayMs(attempt, REOPEN_MIN_MS, REOPEN_MAX_MS));
          }
        }
      }
      opening = false;
      settled = true;
      resolve(managed);
      if (closed) await managed.close();
    };

    const unsubscribe = connection.onConnect(() => void keepOpen());
    void keepOpen();
  });

const openOnce = async (
  model: ChannelModel,
  { name, setup, log }: ManagedChannelOptions,
  lost: (channel: ConfirmChannel) => void,
): Promise<ConfirmChannel> => {
  const channel = await model.createConfirmChannel();
  let closed = false;
  channel.on('error', (error) => log.warn({ err: error, channel: name }, 'RabbitMQ closed a channel'));
  channel.on('close', () => {
    closed = true;
    lost(channel);
  });
  try {
    await setup(channel);
  } catch (error) {
    await closeChannel(channel);
    throw error;
  }
  if (closed) throw new Error('The channel closed during its setup');
  return channel;
};
