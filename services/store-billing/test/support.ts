/** The test harness: the service on real servers, the sandbox as the store, fakes of the other services. */
import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { showUsers, wholeUser } from '@fitness/contracts/testing/users.ts';
import type { EventDefinition, EventInput } from '@fitness/proto/events/define-event.ts';
import type { Booking__Output } from '@fitness/proto/gen/fitness/wallet/v1/Booking.ts';
import { grpcDefinitions } from '@fitness/shared/grpc/load.ts';
import type { GrpcServer } from '@fitness/shared/grpc/server.ts';
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { DAY_MS } from '@fitness/shared/kernel/clock.ts';
import { AppError, badRequest, message } from '@fitness/shared/kernel/error.ts';
import { createCleanup } from '@fitness/shared/runtime/lifecycle.ts';
import { monitored } from '@fitness/shared/testing/commands.ts';
import {
  type Answer,
  apiClient,
  caller,
  type Send,
  standIn,
  standInService,
  testClient,
  testConfig,
} from '@fitness/shared/testing/harness.ts';
import { ManualClock } from '@fitness/shared/testing/manual-clock.ts';
import { openServiceHarness, type ServiceHarness } from '@fitness/shared/testing/service-harness.ts';
import type { Connection } from 'mongoose';
import { productEnvironment } from '../../../sandbox/src/providers/index.ts';
import { type Sandbox, startSandbox } from '../../../sandbox/src/service.ts';
import { readConfig, type StoreBillingConfig } from '../src/config.ts';
import { type RunningStoreBilling, type StoreBillingOverrides, startStoreBilling } from '../src/service.ts';

/** STORE_TIMEOUT_MS, longer than the sandbox takes on a busy machine and shorter than its state `slow`. */
export const LONG_STORE_TIMEOUT_MS = 20_000;
/** STORE_TIMEOUT_MS for tests in which the store must time out. */
export const SHORT_STORE_TIMEOUT_MS = 50;

export const PREMIUM = 1_999_000;
export const BASIC = 99_000;

/** A fake wallet: idempotent by key, with balances that a test sets. */
class FakeWallet {
  readonly balances = new Map<number, number>();
  /** Bookings by idempotency key. */
  readonly booked = new Map<string, Booking__Output[]>();
  /** The number of calls, including replays. */
  calls = 0;
  /** Runs before a booking; throws to refuse it or to be unreachable. */
  before: (bookings: Booking__Output[]) => Promise<void> = async () => undefined;
  /** Runs after a booking; throws to lose its response. */
  after: () => Promise<void> = async () => undefined;

  bookings(userId: number, type: string): Booking__Output[] {
    return [...this.booked.values()].flat().filter((row) => row.user_id === userId && row.type === type);
  }

  async book(
    key: string,
    bookings: Booking__Output[],
  ): Promise<{ payment_ids: number[]; replayed: boolean }> {
    this.calls += 1;
    await this.before(bookings);
    const replayed = this.booked.has(key);
    if (!replayed) {
      for (const { user_id, amount, type } of bookings) {
        const balance = this.balances.get(user_id) ?? 0;
        const after = type === 'income' ? balance + amount : balance - amount;
        if (after < 0)
          throw badRequest('payments.insufficient_balance', message('payments.insufficient_balance'));
        this.balances.set(user_id, after);
      }
      this.booked.set(key, bookings);
    }
    await this.after();
    return { payment_ids: [1], replayed };
  }
}

export const unreachable = async (): Promise<void> => {
  throw new AppError({ kind: 'unavailable', code: 'unavailable', message: message('error.unavailable') });
};

interface Targets {
  gyms: Map<number, { user_id?: number; is_active: boolean }>;
  services: Map<number, { user_id: number; is_active: boolean }>;
  down: boolean;
}

const startStandIns = (
  wallet: FakeWallet,
  targets: Targets,
  gone: ReadonlySet<number>,
): Promise<GrpcServer> => {
  const assertUp = async (): Promise<void> => {
    if (targets.down) await unreachable();
  };
  return standIn(
    standInService(grpcDefinitions.identity(), {
      ShowUsers: showUsers((id) => (gone.has(id) ? undefined : wholeUser(id))),
    }),
    standInService(grpcDefinitions.wallet(), {
      Book: ({ idempotency_key, bookings }) => wallet.book(idempotency_key, bookings),
    }),
    standInService(grpcDefinitions.gyms(), {
      GetGyms: async ({ ids }) => {
        await assertUp();
        const gyms = ids.flatMap((id) => {
          const gym = targets.gyms.get(id);
          return gym === undefined ? [] : [{ id, name: 'Iron House', ...gym }];
        });
        return { gyms };
      },
    }),
    standInService(grpcDefinitions.content(), {
      GetTrainingServices: async ({ ids }) => {
        await assertUp();
        const training_services = ids.flatMap((id) => {
          const service = targets.services.get(id);
          return service === undefined ? [] : [{ id, title: 'Strength', ...service }];
        });
        return { training_services };
      },
    }),
  );
};

export interface Harness extends Omit<ServiceHarness, 'connection'> {
  config: StoreBillingConfig;
  clock: ManualClock;
  service: RunningStoreBilling;
  send: Send;
  sandbox: Sandbox;
  wallet: FakeWallet;
  targets: Targets;
  /** Ids of accounts that identity does not know. */
  gone: Set<number>;
  /** A direct connection to the service's database. */
  database: Connection;
  /** Another instance on the same database, with its own rate limits. */
  replica(
    change?: Partial<StoreBillingConfig>,
    overrides?: StoreBillingOverrides,
  ): Promise<{ service: RunningStoreBilling; send: Send }>;
  close(): Promise<void>;
}

/** The environment of an instance with its own database. */
export const environment = (
  sandboxUrl: string,
  others: string,
  change: Record<string, string> = {},
): Record<string, string> => ({
  ...Object.fromEntries(
    Object.entries(testConfig('store-billing')).map(([name, value]) => [name, String(value)]),
  ),
  JOURNAL_DIRECTORY: `${tmpdir()}/journal-${randomUUID()}`,
  IDENTITY_GRPC_ADDRESS: others,
  WALLET_GRPC_ADDRESS: others,
  GYMS_GRPC_ADDRESS: others,
  CONTENT_GRPC_ADDRESS: others,
  ...productEnvironment(sandboxUrl),
  STORE_TIMEOUT_MS: String(LONG_STORE_TIMEOUT_MS),
  ...change,
});

/** Another database of the same Redis server, for `index` from 1. It has sixteen, and the harness uses number zero. */
const withDatabase = (redisUrl: string, index: number): string => {
  const url = new URL(redisUrl);
  url.pathname = `/${((index - 1) % 15) + 1}`;
  return url.href;
};

export const startHarness = async (
  change: Record<string, string> = {},
  /** In the future, because the database deletes expired documents by real time. */
  startAt: Date | string = '2126-01-15T10:00:00Z',
  /** `monitored`: the service's database commands can be read with `watchCommands`. */
  { monitored: isMonitored = false } = {},
): Promise<Harness> => {
  const cleanup = createCleanup();
  const clock = new ManualClock(startAt);
  const sandbox = await startSandbox({ port: 0, clock });
  cleanup.defer('sandbox', () => sandbox.close());
  const wallet = new FakeWallet();
  const targets: Targets = { gyms: new Map(), services: new Map(), down: false };
  const gone = new Set<number>();
  const others = await startStandIns(wallet, targets, gone);
  cleanup.defer('stand-ins', () => others.close());
  const config = readConfig(
    environment(sandbox.url, others.address, { AMQP_TOPOLOGY: 'provisioned', ...change }),
  );
  cleanup.defer('journal', () => rm(config.JOURNAL_DIRECTORY, { recursive: true, force: true }));
  const { connection: database, ...beside } = await openServiceHarness('store-billing', config, cleanup);
  const service = await startStoreBilling(isMonitored ? monitored(config) : config, {
    clock,
    withoutJobs: true,
  });
  cleanup.defer('service', () => service.close());
  let started = 0;
  return {
    config,
    clock,
    service,
    send: apiClient('store-billing', service.url),
    sandbox,
    wallet,
    targets,
    gone,
    database,
    ...beside,
    replica: async (changed = {}, overrides = {}) => {
      started += 1;
      // Not another namespace, because the relay publishes for all replicas and the tap reads one exchange.
      const ownLimits = { REDIS_URL: withDatabase(config.REDIS_URL, started) };
      const replica = await startStoreBilling(
        { ...config, ...ownLimits, ...changed },
        { clock, withoutJobs: true, ...overrides },
      );
      cleanup.defer('replica', () => replica.close());
      return { service: replica, send: apiClient('store-billing', replica.url) };
    },
    close: () => cleanup.close(),
  };
};

/** Another process, whose clock the sandbox has advanced by 30 days. */
export const advancedReplica = ({ replica, clock }: Harness): ReturnType<Harness['replica']> =>
  replica({}, { clock: { now: () => new Date(clock.now().getTime() + 30 * DAY_MS) }, realTime: clock });

/** A replica with a short store timeout. */
export const replicaWithShortTimeout = (harness: Harness): ReturnType<Harness['replica']> =>
  harness.replica({ STORE_TIMEOUT_MS: SHORT_STORE_TIMEOUT_MS });

let lastId = 0;
/** An id that no other test of this file uses, because limits and grants are per user. */
export const newId = (): number => {
  lastId += 1;
  return lastId;
};
export const newUser = (
  ...args: Parameters<typeof caller> extends [number, ...infer Rest] ? Rest : []
): UserCaller => caller(newId(), ...args);
export const newToken = (): string => `tok-${randomUUID()}`;

type StoreState = 'purchased' | 'canceled' | 'refunded' | 'pending' | 'garbage' | 'unreachable' | 'slow';

export const putPurchase = async (
  { sandbox }: Pick<Harness, 'sandbox'>,
  token: string,
  state: StoreState = 'purchased',
  productId = 'premium_plus',
  more: { purchase_type?: string | undefined; quantity?: number } = {},
): Promise<void> => {
  const response = await fetch(`${sandbox.url}/_sandbox/store/purchases/${encodeURIComponent(token)}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ product_id: productId, state, ...more }),
  });
  if (!response.ok) throw new Error(`the sandbox returned ${response.status}`);
};

/** The number of requests to the store about a token. */
export const storeCalls = async ({ sandbox }: Pick<Harness, 'sandbox'>, token: string): Promise<number> => {
  const response = await fetch(`${sandbox.url}/_sandbox/store/calls?token=${encodeURIComponent(token)}`);
  return ((await response.json()) as { count: number }).count;
};

/** The sandbox returns its state of a purchase when the same purchase is put again. */
export const isConsumed = async ({ sandbox }: Pick<Harness, 'sandbox'>, token: string, productId: string) => {
  const response = await fetch(`${sandbox.url}/_sandbox/store/purchases/${encodeURIComponent(token)}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ product_id: productId, state: 'purchased' }),
  });
  return ((await response.json()) as { data: { consumed: boolean } }).data.consumed;
};

export const redeem = (
  send: Send,
  as: UserCaller,
  token: string,
  fields: Record<string, unknown> = {},
): Promise<Answer> =>
  send('POST', '/payments/store-purchases', {
    as,
    body: { channel: 'cafebazaar', product_id: 'premium_plus', purchase_token: token, ...fields },
  });

export const buyPremium = (send: Send, as: UserCaller, key?: string): Promise<Answer> =>
  send('POST', '/payments/buy-premium', {
    as,
    body: { type: 'plus' },
    ...(key === undefined ? {} : { headers: { 'idempotency-key': key } }),
  });

/** gRPC clients of a running instance. */
export const grpcOf = (service: RunningStoreBilling) => {
  const billing = testClient('store-billing', grpcDefinitions.storeBilling(), service.grpcAddress);
  const blockers = testClient('store-billing', grpcDefinitions.blockers(), service.grpcAddress);
  return {
    billing,
    blockers,
    close: () => {
      billing.close();
      blockers.close();
    },
  };
};

/** Publishes an event as another service. */
export const publish = <Definition extends EventDefinition>(
  harness: Pick<Harness, 'publish'>,
  definition: Definition,
  data: EventInput<Definition>,
): Promise<string> => harness.publish(definition, { subject: 1, data });

export const count = (
  harness: Harness,
  collection: string,
  filter: Record<string, unknown>,
): Promise<number> => harness.database.collection(collection).countDocuments(filter);
