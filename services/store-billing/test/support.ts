/** What these tests share: the service on real servers, the sandbox as the store, stand-ins of the other services. */
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import type { Booking__Output } from '@fitness/proto/gen/fitness/wallet/v1/Booking.ts';
import type { UserCaller } from '@fitness/shared/caller.ts';
import { ManualClock, systemClock } from '@fitness/shared/clock.ts';
import { AppError, badRequest, message } from '@fitness/shared/error.ts';
import { type Broker, connectBroker } from '@fitness/shared/events/broker.ts';
import { deleteTopology, type EventTap, tapEvents } from '@fitness/shared/events/testing.ts';
import { createGrpcClient } from '@fitness/shared/grpc/client.ts';
import { grpcDefinitions } from '@fitness/shared/grpc/load.ts';
import type { GrpcServer } from '@fitness/shared/grpc/server.ts';
import { createLog } from '@fitness/shared/log.ts';
import { monitored } from '@fitness/shared/testing/commands.ts';
import {
  type Answer,
  apiClient,
  caller,
  dropDatabase,
  dropQueues,
  type Send,
  standIn,
  standInService,
  testConfig,
  testSigner,
} from '@fitness/shared/testing/harness.ts';
import mongoose, { type Connection } from 'mongoose';
import { type Sandbox, startSandbox } from '../../../sandbox/src/service.ts';
import { readConfig, type StoreBillingConfig } from '../src/config.ts';
import { type RunningStoreBilling, type StoreBillingOverrides, startStoreBilling } from '../src/service.ts';

/** Longer than the sandbox ever takes on a busy machine, shorter than its `slow`. */
export const PATIENT_MS = 20_000;
/** For a store that is to be too slow; what it is to answer in time is asked with {@link PATIENT_MS}. */
export const IMPATIENT_MS = 300;

export const PREMIUM = 1_999_000;
export const BASIC = 99_000;

/** The wallet as a stand-in: idempotent by key, with balances that a test sets. */
class WalletStandIn {
  readonly balances = new Map<number, number>();
  /** By idempotency key; what is in here was booked once. */
  readonly booked = new Map<string, Booking__Output[]>();
  /** Every call, replays too. */
  calls = 0;
  /** Before the booking: throw to refuse or to be unreachable. */
  before: (bookings: Booking__Output[]) => Promise<void> = async () => undefined;
  /** After the booking: throw for an answer that gets lost. */
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

const startStandIns = (wallet: WalletStandIn, targets: Targets): Promise<GrpcServer> => {
  const answering = async (): Promise<void> => {
    if (targets.down) await unreachable();
  };
  return standIn(
    standInService(grpcDefinitions.wallet(), {
      Book: ({ idempotency_key, bookings }) => wallet.book(idempotency_key, bookings),
    }),
    standInService(grpcDefinitions.gyms(), {
      GetGyms: async ({ ids }) => {
        await answering();
        const found = ids.flatMap((id) => {
          const gym = targets.gyms.get(id);
          return gym === undefined ? [] : [{ id, name: 'Iron House', ...gym }];
        });
        return { gyms: found };
      },
    }),
    standInService(grpcDefinitions.content(), {
      GetTrainingServices: async ({ ids }) => {
        await answering();
        const found = ids.flatMap((id) => {
          const service = targets.services.get(id);
          return service === undefined ? [] : [{ id, title: 'Strength', ...service }];
        });
        return { training_services: found };
      },
    }),
  );
};

export interface World {
  config: StoreBillingConfig;
  clock: ManualClock;
  service: RunningStoreBilling;
  send: Send;
  sandbox: Sandbox;
  wallet: WalletStandIn;
  targets: Targets;
  /** Straight to the database, to look at what is stored. */
  database: Connection;
  tap: EventTap;
  broker: Broker;
  /** Another process over the same database, with a request limit of its own. */
  replica(
    change?: Partial<StoreBillingConfig>,
    overrides?: StoreBillingOverrides,
  ): Promise<{ service: RunningStoreBilling; send: Send }>;
  close(): Promise<void>;
}

const googleKey = generateKeyPairSync('rsa', { modulusLength: 2_048 });

/** The environment of a service that meets the sandbox, the stand-ins and a database of its own. */
export const environment = (
  sandboxUrl: string,
  others: string,
  change: Record<string, string> = {},
): Record<string, string> => ({
  ...Object.fromEntries(
    Object.entries(testConfig('store-billing')).map(([name, value]) => [name, String(value)]),
  ),
  WALLET_GRPC_ADDRESS: others,
  GYMS_GRPC_ADDRESS: others,
  CONTENT_GRPC_ADDRESS: others,
  CAFEBAZAAR_BASE_URL: `${sandboxUrl}/cafebazaar/devapi/v2`,
  CAFEBAZAAR_API_SECRET: 'sandbox',
  MYKET_BASE_URL: `${sandboxUrl}/myket/api/partners`,
  MYKET_ACCESS_TOKEN: 'sandbox',
  GOOGLE_PLAY_BASE_URL: `${sandboxUrl}/google-play`,
  GOOGLE_PLAY_TOKEN_URL: `${sandboxUrl}/google-play/token`,
  GOOGLE_PLAY_CLIENT_EMAIL: 'billing@sandbox.example',
  GOOGLE_PLAY_PRIVATE_KEY: googleKey.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  STORE_TIMEOUT_MS: String(PATIENT_MS),
  ...change,
});

export const startWorld = async (
  change: Record<string, string> = {},
  startAt: Date | string = '2026-01-15T10:00:00Z',
  /** `monitored`: the service's connection tells what it sends (`watchCommands`). */
  { monitored: isMonitored = false } = {},
): Promise<World> => {
  const clock = new ManualClock(startAt);
  const sandbox = await startSandbox({ port: 0, clock });
  const wallet = new WalletStandIn();
  const targets: Targets = { gyms: new Map(), services: new Map(), down: false };
  const others = await startStandIns(wallet, targets);
  const config = readConfig(environment(sandbox.url, others.address, change));
  const broker = await connectBroker({
    url: config.AMQP_URL,
    namespace: config.EVENTS_NAMESPACE,
    log: createLog({ service: 'test', level: 'silent' }),
    name: 'test',
  });
  const tapped = await tapEvents(broker);
  const tap: EventTap = {
    ...tapped,
    waitFor: (type, options) => tapped.waitFor(type, { timeoutMs: PATIENT_MS, ...options }),
  };
  const service = await startStoreBilling(isMonitored ? monitored(config) : config, {
    clock,
    withoutJobs: true,
  });
  const database = await mongoose
    .createConnection(config.MONGODB_URI, { dbName: config.MONGODB_DATABASE })
    .asPromise();
  const replicas: RunningStoreBilling[] = [];
  const namespaces = new Set<string>();
  return {
    config,
    clock,
    service,
    send: apiClient(service.url),
    sandbox,
    wallet,
    targets,
    database,
    tap,
    broker,
    replica: async (different = {}, overrides = {}) => {
      const ofItsOwn = { EVENTS_NAMESPACE: `test-${randomUUID().slice(0, 8)}` };
      const configured = { ...config, ...ofItsOwn, ...different };
      const replica = await startStoreBilling(configured, { clock, withoutJobs: true, ...overrides });
      replicas.push(replica);
      namespaces.add(configured.EVENTS_NAMESPACE);
      return { service: replica, send: apiClient(replica.url) };
    },
    close: async () => {
      await Promise.all([service, ...replicas].map((each) => each.close()));
      await tap.close();
      await deleteTopology(broker, { services: ['store-billing'] });
      await broker.close();
      namespaces.delete(config.EVENTS_NAMESPACE);
      for (const namespace of namespaces)
        await dropQueues({ ...config, EVENTS_NAMESPACE: namespace }, 'store-billing');
      await others.close();
      await sandbox.close();
      await database.close();
      await dropDatabase(config);
    },
  };
};

/** One that does not wait long for the store; its events are told where the world listens. */
export const impatientReplica = (world: World): ReturnType<World['replica']> =>
  world.replica({ STORE_TIMEOUT_MS: IMPATIENT_MS, EVENTS_NAMESPACE: world.config.EVENTS_NAMESPACE });

let lastId = 0;
/** Ids that no other test of this file uses: limits and grants are per user. */
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
  { sandbox }: Pick<World, 'sandbox'>,
  token: string,
  state: StoreState = 'purchased',
  productId = 'premium_plus',
): Promise<void> => {
  const response = await fetch(`${sandbox.url}/_sandbox/store/purchases/${encodeURIComponent(token)}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ product_id: productId, state }),
  });
  if (!response.ok) throw new Error(`the sandbox answered ${response.status}`);
};

/** How often the store was asked about a token. */
export const storeCalls = async ({ sandbox }: Pick<World, 'sandbox'>, token: string): Promise<number> => {
  const response = await fetch(`${sandbox.url}/_sandbox/store/calls?token=${encodeURIComponent(token)}`);
  return ((await response.json()) as { count: number }).count;
};

/** What the store keeps of a purchase: asked of the sandbox by putting the same purchase again. */
export const isConsumed = async ({ sandbox }: Pick<World, 'sandbox'>, token: string, productId: string) => {
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

/** The gRPC door of a service, as another service uses it. */
export const grpcOf = (service: RunningStoreBilling) => {
  const options = { address: service.grpcAddress, target: 'store-billing', from: 'test', signer: testSigner };
  const billing = createGrpcClient({ definition: grpcDefinitions.storeBilling(), ...options });
  const blockers = createGrpcClient({ definition: grpcDefinitions.blockers(), ...options });
  return {
    billing,
    blockers,
    close: () => {
      billing.close();
      blockers.close();
    },
  };
};

/** Tells the service something as its producer would. */
export const publish = async (
  { broker }: World,
  type: string,
  service: string,
  data: Record<string, unknown>,
): Promise<void> => {
  const event = {
    specversion: '1.0',
    id: randomUUID(),
    source: `/services/${service}`,
    type,
    subject: '1',
    time: systemClock.now().toISOString(),
    datacontenttype: 'application/json',
    aggregateversion: 1,
    data,
  };
  await broker.publish(broker.eventsExchange, type, Buffer.from(JSON.stringify(event)));
};

export const count = (world: World, collection: string, filter: Record<string, unknown>): Promise<number> =>
  world.database.collection(collection).countDocuments(filter);
