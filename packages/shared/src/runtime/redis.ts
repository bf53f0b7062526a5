/**
 * The Redis client of a process. Redis holds rate limits, idempotency checks, locks and the epochs of credentials: its data may
 * be lost.
 */
import { Redis } from 'ioredis';
import type { Logger } from '../kernel/log.ts';

export type { Redis } from 'ioredis';

const MAX_RETRY_DELAY_MS = 2_000;
const CONNECT_TIMEOUT_MS = 3_000;
const COMMAND_TIMEOUT_MS = 1_000;
const FIRST_CONNECT_WAIT_MS = 2_000;

export interface ConnectRedisOptions {
  url: string;
  log?: Logger | undefined;
  name?: string | undefined;
  /** How long to wait for the first connection. Default 2 s. */
  firstWaitMs?: number | undefined;
  /** Default 1 s. */
  commandTimeoutMs?: number | undefined;
  /** Replaces a connection on which nothing has answered for so long. Default: none. */
  socketTimeoutMs?: number | undefined;
}

/**
 * Resolves when the client is connected, and after 2 s otherwise: Redis is not needed to start. While Redis is down,
 * commands reject at once, and the client reconnects with delays of up to 2 s. Each change is logged once. The caller
 * closes it by `redis.disconnect()`.
 */
export const connectRedis = async (options: ConnectRedisOptions): Promise<Redis> => {
  const { url, log, name } = options;
  const redis = new Redis(url, {
    ...(name === undefined ? {} : { connectionName: name }),
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    // A command that was sent may have been executed.
    autoResendUnfulfilledCommands: false,
    // Older servers do not know it, and the users of a process may not send it.
    disableClientInfo: true,
    connectTimeout: CONNECT_TIMEOUT_MS,
    commandTimeout: options.commandTimeoutMs ?? COMMAND_TIMEOUT_MS,
    ...(options.socketTimeoutMs === undefined ? {} : { socketTimeout: options.socketTimeoutMs }),
    retryStrategy: (attempt) => Math.min(50 * 2 ** Math.min(attempt, 10), MAX_RETRY_DELAY_MS),
  });
  logChanges(redis, log);
  await firstConnection(redis, options.firstWaitMs ?? FIRST_CONNECT_WAIT_MS);
  return redis;
};

const logChanges = (redis: Redis, log: Logger | undefined): void => {
  let state: 'unknown' | 'up' | 'down' = 'unknown';
  let lastError: unknown;
  redis.on('error', (error) => {
    lastError = error;
  });
  redis.on('ready', () => {
    if (state === 'down') log?.info('Redis is reachable again');
    state = 'up';
  });
  redis.on('close', () => {
    // `status` is 'end' after our own disconnect.
    if (state === 'down' || redis.status === 'end') return;
    state = 'down';
    log?.warn({ err: lastError }, 'Redis is not reachable; going on without it');
  });
};

const firstConnection = (redis: Redis, waitMs: number): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, waitMs);
    redis.once('ready', () => {
      clearTimeout(timer);
      resolve();
    });
  });

/** Rejects when Redis does not answer. For readiness checks. */
export const pingRedis = async (redis: Redis): Promise<void> => {
  await redis.ping();
};
