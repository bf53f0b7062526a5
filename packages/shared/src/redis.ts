/** The Redis client of a process: limits and caches. Everything in it can be lost. */
import { Redis } from 'ioredis';
import type { Logger } from 'pino';

export type { Redis } from 'ioredis';

const MAX_RETRY_DELAY_MS = 2_000;
const CONNECT_TIMEOUT_MS = 3_000;
const COMMAND_TIMEOUT_MS = 1_000;
const FIRST_CONNECT_WAIT_MS = 2_000;

export interface ConnectRedisOptions {
  url: string;
  log?: Logger | undefined;
  name?: string | undefined;
  /** How long the first connection is waited for. Default 2 s. */
  firstWaitMs?: number | undefined;
}

/**
 * A client that is handed out at once or after at most 2 s, connected or not: Redis is not needed to start. While it
 * is gone every command rejects at once (nothing queues up) and the client goes on trying, at most every 2 s, for ever.
 * Going and coming back are logged once each. The caller ends it with `redis.disconnect()`.
 */
export const connectRedis = async (options: ConnectRedisOptions): Promise<Redis> => {
  const { url, log, name } = options;
  const redis = new Redis(url, {
    ...(name === undefined ? {} : { connectionName: name }),
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    connectTimeout: CONNECT_TIMEOUT_MS,
    commandTimeout: COMMAND_TIMEOUT_MS,
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
