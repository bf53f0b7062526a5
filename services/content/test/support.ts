/** A running content service with stand-ins of the services that it asks, over real gRPC. */
import type { EventDefinition, EventInput } from '@fitness/proto/events/define-event.ts';
import { ManualClock, systemClock, systemRandom } from '@fitness/shared/clock.ts';
import { badRequest, message, unavailable } from '@fitness/shared/error.ts';
import { type Broker, connectBroker } from '@fitness/shared/events/broker.ts';
import { deleteTopology, type EventTap, tapEvents } from '@fitness/shared/events/testing.ts';
import { createGrpcClient, type GrpcClient } from '@fitness/shared/grpc/client.ts';
import { grpcDefinitions } from '@fitness/shared/grpc/load.ts';
import type { GrpcServer } from '@fitness/shared/grpc/server.ts';
import { type Cleanup, createCleanup } from '@fitness/shared/lifecycle.ts';
import { createLog } from '@fitness/shared/log.ts';
import {
  apiClient,
  dropDatabase,
  type Send,
  standIn,
  standInService,
  testConfig,
  testSigner,
} from '@fitness/shared/testing/harness.ts';
import { showUsers, wholeUser } from '@fitness/shared/testing/users.ts';
import { type Connection, createConnection } from 'mongoose';
import type { ContentConfig } from '../src/config.ts';
import { type RunningContent, startContent } from '../src/service.ts';

export interface Booking {
  user_id: number;
  type: string;
  amount: number;
  payable_type: string | undefined;
  payable_id: number | undefined;
  description: string | undefined;
}

/** What the stand-ins say, and what they were asked. */
export class World {
  readonly pending = new Set<number>();
  readonly gone = new Set<number>();
  readonly gyms = new Map<number, { user_id?: number; is_active: boolean; version?: number }>();
  readonly boosts = new Map<number, { level: number; ends_at: string }>();
  readonly media = new Map<string, string[]>();
  readonly booked = new Map<string, Booking[]>();
  /** Method names, as often as they were called. */
  readonly calls: string[] = [];
  down: string[] = [];
  commissionPercent = 10;
  balance = 1_000_000_000;
  /** Runs before the wallet answers `Book`; `booked` tells whether it was done already. */
  beforeBookAnswer: () => Promise<void> = async () => undefined;

  /** What runs before a method does anything. */
  readonly before = new Map<string, () => Promise<void>>();

  async called(method: string): Promise<void> {
    this.calls.push(method);
    if (this.down.includes(method)) throw unavailable(`${method} is down`);
    await this.before.get(method)?.();
  }

  /** The payments of one kind, over all sales. */
  payments(type: string): Booking[] {
    return [...this.booked.values()].flat().filter((booking) => booking.type === type);
  }
}

/** Ids from here on are nobody's. */
export const NOBODY = 900_000;

const identityOf = (world: World) =>
  standInService(grpcDefinitions.identity(), {
    ShowUsers: async (request, context) => {
      await world.called('ShowUsers');
      return showUsers((id) => (id < NOBODY && !world.gone.has(id) ? wholeUser(id) : undefined))(
        request,
        context,
      );
    },
    GetHiddenUsers: async ({ ids }) => {
      await world.called('GetHiddenUsers');
      return {
        pending_ids: ids.filter((id) => world.pending.has(id)),
        gone_ids: ids.filter((id) => id >= NOBODY || world.gone.has(id)),
      };
    },
  });

const gymsOf = (world: World) =>
  standInService(grpcDefinitions.gyms(), {
    GetGyms: async ({ ids }) => {
      await world.called('GetGyms');
      const found = ids.flatMap((id) => {
        const gym = world.gyms.get(id);
        return gym === undefined ? [] : [{ id, name: `Gym ${id}`, ...gym }];
      });
      return { gyms: found };
    },
  });

const walletOf = (world: World) =>
  standInService(grpcDefinitions.wallet(), {
    GetRates: async () => {
      await world.called('GetRates');
      return { gateway_fee_percent: 1, commission_percent: world.commissionPercent, vat_percent: 0 };
    },
    Book: async ({ idempotency_key, bookings }) => {
      await world.called('Book');
      const replayed = world.booked.has(idempotency_key);
      const price = bookings.find(({ type }) => type === 'purchase')?.amount ?? 0;
      if (!replayed) {
        if (price > world.balance)
          throw badRequest('payments.insufficient_balance', message('payments.insufficient_balance'));
        world.balance -= price;
        world.booked.set(
          idempotency_key,
          bookings.map(({ user_id, type, amount, payable_type, payable_id, description }) => ({
            user_id,
            type,
            amount,
            payable_type,
            payable_id,
            description,
          })),
        );
      }
      await world.beforeBookAnswer();
      return { payment_ids: bookings.map((_, index) => index + 1), replayed };
    },
  });

const mediaOf = (world: World) =>
  standInService(grpcDefinitions.media(), {
    GetMedia: async ({ targets }) => {
      await world.called('GetMedia');
      const media = targets.flatMap(({ attachable_type, attachable_id }) =>
        (world.media.get(`${attachable_type}:${attachable_id}`) ?? []).map((filename, index) => ({
          id: attachable_id * 100 + index,
          attachable_type,
          attachable_id,
          link: `http://api.test/api/v1/media/${attachable_id * 100 + index}/${filename}`,
          filename,
          mime_type: 'image/png',
          size: 12,
          created_at: '2026-01-01 00:00:00',
        })),
      );
      return { media };
    },
  });

const storeBillingOf = (world: World) =>
  standInService(grpcDefinitions.storeBilling(), {
    GetBoosts: async ({ targets }) => {
      await world.called('GetBoosts');
      const boosts = targets.flatMap(({ id }) => {
        const boost = world.boosts.get(id);
        const boostable_type = 'App\\Models\\TrainingServices\\TrainingService';
        const starts_at = '2026-01-01 00:00:00';
        return boost === undefined
          ? []
          : [
              {
                id: id + 1_000,
                boostable_type,
                boostable_id: id,
                starts_at,
                created_at: starts_at,
                ...boost,
              },
            ];
      });
      return { boosts };
    },
  });

/** Events as their producers would publish them. */
type Tell = <Definition extends EventDefinition>(
  definition: Definition,
  event: { subject: number; version: number; data: EventInput<Definition> },
) => Promise<void>;

const teller =
  (broker: Broker): Tell =>
  async (definition, { subject, version, data }) => {
    const event = {
      specversion: '1.0',
      id: systemRandom.uuid(),
      source: `/services/${definition.type.split('.')[0]?.replace('_', '-')}`,
      type: definition.type,
      subject: String(subject),
      time: '2026-01-15T10:00:00.000Z',
      datacontenttype: 'application/json',
      aggregateversion: version,
      data,
    };
    await broker.publish(broker.eventsExchange, definition.type, Buffer.from(JSON.stringify(event)));
  };

export interface Stage {
  config: ContentConfig;
  world: World;
  clock: ManualClock;
  content: RunningContent;
  send: Send;
  tell: Tell;
  /** Events that content told. */
  tap: EventTap;
  connection: Connection;
  /** Stops the service and starts it again over the same data. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

export const client = <Definition>(definition: Definition, address: string): GrpcClient<Definition> =>
  createGrpcClient({ definition, address, target: 'content', from: 'test', signer: testSigner });

/** The stand-ins alone, for a service in a process of its own. */
export const openWorld = async (): Promise<{
  world: World;
  server: GrpcServer;
  addresses: GrpcAddresses;
}> => {
  const world = new World();
  const server = await standIn(
    identityOf(world),
    gymsOf(world),
    walletOf(world),
    mediaOf(world),
    storeBillingOf(world),
  );
  const addresses = {
    IDENTITY_GRPC_ADDRESS: server.address,
    GYMS_GRPC_ADDRESS: server.address,
    WALLET_GRPC_ADDRESS: server.address,
    MEDIA_GRPC_ADDRESS: server.address,
    STORE_BILLING_GRPC_ADDRESS: server.address,
  };
  return { world, server, addresses };
};

type GrpcAddresses = Pick<ContentConfig, Extract<keyof ContentConfig, `${string}_GRPC_ADDRESS`>>;

const settings = { LOG_LEVEL: 'silent', CONTENT_SWEEP_SECONDS: 3_600 } as const;

/** What was opened is closed again, also when a later part cannot be opened. */
export const openStage = async (): Promise<Stage> => {
  const cleanup = createCleanup();
  try {
    return await open(cleanup);
  } catch (error) {
    await cleanup.close();
    throw error;
  }
};

const open = async (cleanup: Cleanup): Promise<Stage> => {
  const { world, server, addresses } = await openWorld();
  cleanup.defer('stand-ins', () => server.close());
  const config: ContentConfig = { ...testConfig('content'), ...addresses, ...settings };
  cleanup.defer('database', () => dropDatabase(config));
  const clock = new ManualClock(systemClock.now());
  const log = createLog({ service: 'test', level: 'silent' });
  const broker = await connectBroker({
    url: config.AMQP_URL,
    namespace: config.EVENTS_NAMESPACE,
    log,
    name: 'test',
  });
  cleanup.defer('broker', () => broker.close());
  cleanup.defer('topology', () => deleteTopology(broker, { services: ['content'] }));
  const tap = await tapEvents(broker, 'content.#');
  cleanup.defer('tap', () => tap.close());
  const connection = await createConnection(config.MONGODB_URI, {
    dbName: config.MONGODB_DATABASE,
  }).asPromise();
  cleanup.defer('connection', () => connection.close());
  const stage: Stage = {
    config,
    world,
    clock,
    content: await startContent(config, { clock }),
    send: (...request) => apiClient(stage.content.url)(...request),
    tell: teller(broker),
    tap,
    connection,
    restart: async () => {
      await stage.content.close();
      stage.content = await startContent(config, { clock });
    },
    close: () => cleanup.close(),
  };
  cleanup.defer('content', () => stage.content.close());
  return stage;
};

/** Twenty at once. */
export const together = <T>(work: (index: number) => Promise<T>, times = 20): Promise<T[]> =>
  Promise.all(Array.from({ length: times }, (_, index) => work(index)));
