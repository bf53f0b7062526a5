/** The needs of each process at the servers. All permissions are derived from them. */
import type { ProcessName } from '../../kernel/process-name.ts';

export type RedisUse = 'limits' | 'idempotency' | 'score-locks' | 'revocations' | 'credential-cache';

export interface ProcessNeeds {
  name: ProcessName;
  /** Its own MongoDB database; undefined for a process without one. */
  database: string | undefined;
  /** What it keeps in Redis. */
  redis: readonly RedisUse[];
  /** Whether it publishes and consumes events. */
  hasEvents: boolean;
  /** Commands of RPC over RabbitMQ that it sends and serves. */
  commands: readonly string[];
}

const service = (name: ProcessName, more: Partial<ProcessNeeds> = {}): ProcessNeeds => ({
  name,
  database: `fitness_${name.replaceAll('-', '_')}`,
  redis: ['limits'],
  hasEvents: true,
  commands: [],
  ...more,
});

/** The services whose routes take an `Idempotency-Key` compare it with each other. */
const withIdempotency: Pick<ProcessNeeds, 'redis'> = { redis: ['limits', 'idempotency'] };

export const PROCESSES: readonly ProcessNeeds[] = [
  service('identity', { redis: ['limits', 'score-locks', 'revocations'], commands: ['sms.send'] }),
  service('wallet', withIdempotency),
  service('gyms'),
  service('content', withIdempotency),
  service('media'),
  service('store-billing', withIdempotency),
  {
    name: 'gateway',
    database: undefined,
    redis: ['limits', 'credential-cache'],
    hasEvents: false,
    commands: [],
  },
];

/** The user of the operator's commands: dead letters, the audit of the wallet and of the audit logs. */
export const OPERATOR = 'operator';
