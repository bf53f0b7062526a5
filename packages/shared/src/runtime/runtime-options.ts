/** What a runtime is opened with. */
import type { Clock, Random } from '../kernel/clock.ts';
import type { TelemetryConfig } from '../kernel/config.ts';
import type { Logger } from '../kernel/log.ts';
import type { Topology } from '../messaging/topology.ts';

/** The part of a service's configuration that the runtime reads (`serviceShape` of config.ts). */
export interface RuntimeConfig extends TelemetryConfig {
  NODE_ENV: 'development' | 'test' | 'production';
  LOG_LEVEL: string;
  HOST: string;
  HTTP_PORT: number;
  GRPC_PORT: number;
  PRIVATE_KEY_DIRECTORY: string;
  PUBLIC_KEYS_DIRECTORY: string;
  TLS_DIRECTORY?: string | undefined;
  MONGODB_URI: string;
  MONGODB_DATABASE: string;
  REDIS_URL: string;
  AMQP_URL: string;
  AMQP_TOPOLOGY: Topology;
  EVENTS_NAMESPACE: string;
  DRAIN_MS: number;
  SHUTDOWN_GRACE_MS: number;
  DEADLINE_FACTOR: number;
  SEED_DEMO: boolean;
  SANDBOX_URL?: string | undefined;
}

/** Replacements for tests. */
export interface Overrides {
  clock?: Clock;
  /** Default: `clock`, if it is present. */
  realTime?: Clock;
  random?: Random;
  log?: Logger;
  /** How long the closing of a transport waits for current requests, in milliseconds. */
  closeGraceMs?: number | undefined;
  /** How long a command waits for a database that cannot be reached, in milliseconds. */
  databaseWaitMs?: number | undefined;
  /** How often the files of the certificate are read, in milliseconds. */
  tlsCheckMs?: number | undefined;
  /** How often the log reports an index or an upgrade that takes long, in milliseconds. */
  indexNoticeMs?: number | undefined;
  /** Delays of the tries of an event after the first, in milliseconds. */
  retryDelaysMs?: readonly number[] | undefined;
  /** For the command `upgrade`: prepare the database, serve nothing. */
  upgradeOnly?: boolean | undefined;
}
