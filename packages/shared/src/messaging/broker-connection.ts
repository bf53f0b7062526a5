/** The TCP connection to RabbitMQ, which is reopened whenever it is lost. */
import { type ChannelModel, connect, type RecoveringChannelModel } from 'amqplib';
import type { Logger } from '../kernel/log.ts';
import { finishesWithin } from '../kernel/timing.ts';

const START_TIMEOUT_MS = 30_000;
/** Longer than an attempt may take. */
const FIRST_TRY_MS = 6_000;
const HEARTBEAT_S = 5;
const SOCKET_TIMEOUT_MS = 5_000;
const RECONNECT_MIN_MS = 100;
const RECONNECT_MAX_MS = 2_000;
const CLOSE_TIMEOUT_MS = 2_000;

export interface BrokerConnectionOptions {
  url: string;
  /** Shown to operators in the broker's list of connections. */
  name: string;
  log: Logger;
  startTimeoutMs?: number | undefined;
  mayBeAbsent?: boolean | undefined;
}

export interface BrokerConnection {
  /** The open connection; undefined while there is none. */
  current(): ChannelModel | undefined;
  /** Calls `listener` after every later connect, including the first. Returns a function that stops this. */
  onConnect(listener: () => void): () => void;
  close(): Promise<void>;
}

/** Connects; see `connectBroker` for how long it waits. */
export const openBrokerConnection = async (options: BrokerConnectionOptions): Promise<BrokerConnection> => {
  const { url, log, name } = options;
  const listeners = new Set<() => void>();
  let live: ChannelModel | undefined;
  const recovering = await connect(withHeartbeat(url), {
    noDelay: true,
    timeout: SOCKET_TIMEOUT_MS,
    clientProperties: { connection_name: name },
    recovery: {
      initialDelay: RECONNECT_MIN_MS,
      maxDelay: RECONNECT_MAX_MS,
      waitForConnect: false,
      setup: listenDuringSetup,
    },
  });
  recovering.on('connect', (model) => {
    if (lostDuringSetup.has(model)) {
      // amqplib listens only from now on; the repeated event makes it reconnect.
      model.emit('close', new Error('Connection lost during its set-up'));
      return;
    }
    live = model;
    for (const listener of listeners) listener();
  });
  recovering.on('disconnect', () => {
    live = undefined;
  });
  logChanges(recovering, log);
  if (options.mayBeAbsent === true) await firstTry(recovering);
  else await firstConnection(recovering, options.startTimeoutMs ?? START_TIMEOUT_MS);
  return {
    current: () => live,
    onConnect: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close: async () => {
      live = undefined;
      // A broker that does not respond must not delay a shutdown.
      await finishesWithin(recovering.close(), CLOSE_TIMEOUT_MS);
    },
  };
};

const lostDuringSetup = new WeakSet<ChannelModel>();

/** Before amqplib listens itself, an error without a listener would end the process and a close would be missed. */
const listenDuringSetup = async (model: ChannelModel): Promise<void> => {
  model.on('error', () => undefined);
  model.on('close', () => lostDuringSetup.add(model));
};

const withHeartbeat = (url: string): string => {
  const parsed = new URL(url);
  if (!parsed.searchParams.has('heartbeat')) parsed.searchParams.set('heartbeat', String(HEARTBEAT_S));
  return parsed.href;
};

const logChanges = (recovering: RecoveringChannelModel, log: Logger): void => {
  let down = false;
  // The 'disconnect' that follows has the same error.
  recovering.on('error', (error) => log.debug({ err: error }, 'RabbitMQ connection error'));
  recovering.on('disconnect', (error) => {
    down = true;
    log.warn({ err: error }, 'RabbitMQ disconnected; reconnecting');
  });
  recovering.on('connect-failed', (error) => {
    if (!down) log.warn({ err: error }, 'RabbitMQ is not reachable yet; trying again');
    down = true;
  });
  recovering.on('connect', () => {
    if (down) log.info('RabbitMQ is reachable again');
    down = false;
  });
  recovering.on('blocked', (reason) =>
    log.error({ reason }, 'RabbitMQ accepts no messages: it is short of resources'),
  );
  recovering.on('unblocked', () => log.info('RabbitMQ accepts messages again'));
};

/** Resolves when the broker is connected, or the first try has failed. */
const firstTry = async (recovering: RecoveringChannelModel): Promise<void> => {
  const failed = new Promise<void>((resolve) => recovering.once('connect-failed', () => resolve()));
  await finishesWithin(Promise.race([recovering.waitForConnect(), failed]), FIRST_TRY_MS);
};

const firstConnection = async (recovering: RecoveringChannelModel, timeoutMs: number): Promise<void> => {
  let lastError = new Error('RabbitMQ did not respond');
  recovering.on('connect-failed', (error) => {
    lastError = error;
  });
  if (await finishesWithin(recovering.waitForConnect(), timeoutMs)) return;
  await recovering.close();
  throw lastError;
};
