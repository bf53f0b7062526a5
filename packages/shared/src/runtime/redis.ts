/**
 * The Redis client of a process. Redis holds rate limits, idempotency checks, locks and the epochs of credentials: its data may
 * be lost.
 */
import { Redis } from 'ioredis';
import { StandaloneConnector } from 'ioredis/built/connectors/index.js';
import { ConfigError } from '../kernel/config.ts';
import type { Logger } from '../kernel/log.ts';

export type { Redis } from 'ioredis';

/** After a failover, revocations wait for at most this time. */
const MAX_RETRY_DELAY_MS = 500;
const CONNECT_TIMEOUT_MS = 3_000;
const COMMAND_TIMEOUT_MS = 1_000;
const FIRST_CONNECT_WAIT_MS = 2_000;

export interface ConnectRedisOptions {
  url: string;
  log?: Logger | undefined;
  name?: string | undefined;
  /** Default 1 s. */
  commandTimeoutMs?: number | undefined;
  /** A connection without a response for this long is replaced. Default: no limit. */
  socketTimeoutMs?: number | undefined;
}

/**
 * Resolves after the first attempt, or after at most 2 s: Redis is not needed to start. While Redis is down or a replica,
 * commands reject at once, and the client reconnects with delays of up to 0.5 s. Each change is logged once. Rejects with
 * {@link ConfigError} for a Sentinel and for a node of a cluster. If one of these is reached later, it is treated as down. The
 * caller closes the client with `redis.disconnect()`.
 */
export const connectRedis = async (options: ConnectRedisOptions): Promise<Redis> => {
  const { url, log, name } = options;
  const report = createReport(log);
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
    // A demotion closes no connections. The next one may lead to the new primary.
    reconnectOnError: (error) => report.isLeft(error),
    Connector: class extends StandaloneConnector {
      constructor(connectorOptions: unknown) {
        super(connectorOptions as object);
      }
      /** Runs before the connection is ready. */
      override check(info: RedisInfo): boolean {
        return report.accepts(info);
      }
    },
  });
  report.follow(redis);
  try {
    await firstAttempt(redis);
    report.start();
    // A Sentinel has other users, but says what it is to a client without one.
    if (report.isUserUnknown()) (await connectRedis({ url: withoutUser(url) })).disconnect();
    return redis;
  } catch (error) {
    redis.disconnect();
    throw error;
  }
};

const withoutUser = (url: string): string => Object.assign(new URL(url), { username: '', password: '' }).href;

/** The fields of `INFO`, some of which may be missing. */
type RedisInfo = Readonly<Record<string, string | undefined>>;

const UNREACHABLE = 'Redis is not reachable; continuing without it';
const REPLICA = 'Redis is a replica; continuing without it until REDIS_URL leads to a primary';

/** Why no server of this kind is ever used. Valkey calls its mode `server_mode`. */
const refusalOf = ({ redis_mode, server_mode, cluster_enabled }: RedisInfo): string | undefined => {
  const mode = redis_mode ?? server_mode;
  if (mode === 'sentinel') {
    return 'REDIS_URL leads to a Redis Sentinel, which is not supported: give an address that always leads to the primary';
  }
  if (mode === 'cluster' || cluster_enabled === '1') {
    return 'REDIS_URL leads to a node of a Redis Cluster, which is not supported: give the address of one primary without cluster mode';
  }
  return undefined;
};

/** Decides about a new connection, and logs the changes. */
const createReport = (log: Logger | undefined) => {
  /** Why Redis is not used. Undefined while it is, and before the first attempt. */
  let problem: string | undefined;
  let refusal: string | undefined;
  let isStarted = false;
  let lastError: unknown;
  const logOnce = (level: 'warn' | 'error', text: string, fields: object = {}): void => {
    if (problem !== text) log?.[level](fields, text);
    problem = text;
  };
  return {
    /** Called after the first attempt. Throws when a server of this kind is never used. */
    start: (): void => {
      if (refusal !== undefined) throw new ConfigError(`Wrong configuration: ${refusal}`);
      isStarted = true;
    },
    /** Whether the client must leave the server that returned this error. */
    isLeft: (error: Error): boolean => {
      const [, code] = /^(READONLY|MASTERDOWN|LOADING) /.exec(error.message) ?? [];
      if (code === undefined) return false;
      lastError = error;
      if (code !== 'LOADING') logOnce('warn', REPLICA);
      return true;
    },
    isUserUnknown: () => lastError instanceof Error && lastError.message.startsWith('WRONGPASS'),
    accepts: (info: RedisInfo): boolean => {
      refusal = refusalOf(info);
      if (refusal === undefined && info.role !== 'slave') return true;
      if (refusal === undefined) logOnce('warn', REPLICA);
      else if (isStarted) logOnce('error', refusal);
      // `start` throws it.
      else problem = refusal;
      return false;
    },
    follow: (redis: Redis): void => {
      redis.on('error', (error) => {
        lastError = error;
      });
      redis.on('ready', () => {
        if (problem !== undefined) log?.info('Redis is reachable again');
        problem = undefined;
      });
      redis.on('close', () => {
        // `status` is 'end' after our own disconnect.
        if (problem === undefined && redis.status !== 'end') logOnce('warn', UNREACHABLE, { err: lastError });
      });
    },
  };
};

const firstAttempt = (redis: Redis): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, FIRST_CONNECT_WAIT_MS);
    for (const outcome of ['ready', 'close']) {
      redis.once(outcome, () => {
        clearTimeout(timer);
        resolve();
      });
    }
  });

/** Rejects when no primary responds, and leaves a server that is no longer one. For readiness checks. */
export const assertPrimary = async (redis: Redis): Promise<void> => {
  // While a connection is being made, only INFO is served.
  if (redis.status !== 'ready') throw new Error('not connected');
  if (/^role:slave\b/m.test(await redis.info('replication'))) {
    redis.disconnect(true);
    throw new Error(REPLICA);
  }
};
