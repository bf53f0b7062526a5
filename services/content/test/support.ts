/** A running content service, with stand-ins of the services that it calls over gRPC. */

import { showUsers, wholeUser } from '@fitness/contracts/testing/users.ts';
import type { GrpcClient } from '@fitness/shared/grpc/client.ts';
import { grpcDefinitions } from '@fitness/shared/grpc/load.ts';
import type { GrpcServer } from '@fitness/shared/grpc/server.ts';
import { systemClock } from '@fitness/shared/kernel/clock.ts';
import { LIST_CACHE_MIB } from '@fitness/shared/kernel/config.ts';
import { badRequest, message, unavailable } from '@fitness/shared/kernel/error.ts';
import { type Cleanup, createCleanup } from '@fitness/shared/runtime/lifecycle.ts';
import type { Overrides } from '@fitness/shared/runtime/runtime-options.ts';
import { monitored } from '@fitness/shared/testing/commands.ts';
import { fillLike } from '@fitness/shared/testing/fill.ts';
import {
  apiClient,
  type Send,
  standIn,
  standInService,
  testClient,
  testConfig,
} from '@fitness/shared/testing/harness.ts';
import { ManualClock } from '@fitness/shared/testing/manual-clock.ts';
import { openServiceHarness, type ServiceHarness } from '@fitness/shared/testing/service-harness.ts';
import type { Connection } from 'mongoose';
import type { ContentConfig } from '../src/config.ts';
import type { PostFlags } from '../src/domain/post.ts';
import { countKey, totalKey } from '../src/domain/post-lists.ts';
import { type RunningContent, startContent } from '../src/service.ts';
import type { ProfileDocument } from '../src/store/models/posts.ts';

export interface Booking {
  user_id: number;
  type: string;
  amount: number;
  payable_type: string | undefined;
  payable_id: number | undefined;
  description: string | undefined;
}

/** The state of the stand-ins, and the calls that they received. */
export class StandIns {
  readonly pending = new Set<number>();
  readonly gone = new Set<number>();
  readonly gyms = new Map<number, { user_id?: number; is_active: boolean; version?: number }>();
  readonly boosts = new Map<number, { level: number; ends_at: string }>();
  /** The version and names of the public files, keyed by model and id. */
  readonly media = new Map<string, [number, string[]]>();
  readonly booked = new Map<string, Booking[]>();
  /** The method name of every call. */
  readonly calls: string[] = [];
  down: string[] = [];
  commissionPercent = 10;
  balance = 1_000_000_000;
  /** Runs after the wallet has booked and before it responds. */
  beforeBookAnswer: () => Promise<void> = async () => undefined;

  /** Hooks by method name. Each runs before the method does anything. */
  readonly before = new Map<string, () => Promise<void>>();

  async called(method: string): Promise<void> {
    this.calls.push(method);
    if (this.down.includes(method)) throw unavailable(`${method} is down`);
    await this.before.get(method)?.();
  }

  /** The payments of one type, over all sales. */
  payments(type: string): Booking[] {
    return [...this.booked.values()].flat().filter((booking) => booking.type === type);
  }
}

/** Ids from here on belong to no account. */
export const NOBODY = 900_000;

const PENDING_DELETION = {
  deletion_requested_at: '2026-01-01 00:00:00',
  deletion_scheduled_at: '2026-01-08 00:00:00',
};

const identityOf = (standIns: StandIns) =>
  standInService(grpcDefinitions.identity(), {
    ShowUsers: async (request, context) => {
      await standIns.called('ShowUsers');
      const find = (id: number) => {
        if (id >= NOBODY || standIns.gone.has(id)) return undefined;
        return wholeUser(id, standIns.pending.has(id) ? PENDING_DELETION : {});
      };
      return showUsers(find)(request, context);
    },
    GetHiddenUsers: async ({ ids }) => {
      await standIns.called('GetHiddenUsers');
      return {
        pending_ids: ids.filter((id) => standIns.pending.has(id)),
        gone_ids: ids.filter((id) => id >= NOBODY || standIns.gone.has(id)),
      };
    },
  });

const gymsOf = (standIns: StandIns) =>
  standInService(grpcDefinitions.gyms(), {
    GetGyms: async ({ ids }) => {
      await standIns.called('GetGyms');
      const gyms = ids.flatMap((id) => {
        const gym = standIns.gyms.get(id);
        return gym === undefined ? [] : [{ id, name: `Gym ${id}`, ...gym }];
      });
      return { gyms };
    },
  });

const walletOf = (standIns: StandIns) =>
  standInService(grpcDefinitions.wallet(), {
    GetRates: async () => {
      await standIns.called('GetRates');
      return { gateway_fee_percent: 1, commission_percent: standIns.commissionPercent, vat_percent: 0 };
    },
    Book: async ({ idempotency_key, bookings }) => {
      await standIns.called('Book');
      const replayed = standIns.booked.has(idempotency_key);
      const price = bookings.find(({ type }) => type === 'purchase')?.amount ?? 0;
      if (!replayed) {
        if (price > standIns.balance)
          throw badRequest('payments.insufficient_balance', message('payments.insufficient_balance'));
        standIns.balance -= price;
        standIns.booked.set(
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
      await standIns.beforeBookAnswer();
      return { payment_ids: bookings.map((_, index) => index + 1), replayed };
    },
  });

/** The public files of a target as media sends them. */
export const mediaCopy = (model: string, id: number, filenames: readonly string[], version = 1) => ({
  target: { attachable_type: model, attachable_id: id },
  version,
  files: filenames.map((filename, index) => ({
    id: id * 100 + index,
    filename,
    mime_type: 'image/png',
    size: 12,
    created_at: '2026-01-01 00:00:00',
  })),
});

const mediaOf = (standIns: StandIns) =>
  standInService(grpcDefinitions.media(), {
    GetCopies: async ({ targets }) => {
      await standIns.called('GetCopies');
      return {
        copies: targets.map(({ attachable_type, attachable_id }) => {
          const [version, names] = standIns.media.get(`${attachable_type}:${attachable_id}`) ?? [0, []];
          return mediaCopy(attachable_type, attachable_id, names, version);
        }),
      };
    },
  });

const storeBillingOf = (standIns: StandIns) =>
  standInService(grpcDefinitions.storeBilling(), {
    GetBoosts: async ({ targets }) => {
      await standIns.called('GetBoosts');
      const boosts = targets.flatMap(({ id }) => {
        const boost = standIns.boosts.get(id);
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

export interface Harness extends ServiceHarness {
  config: ContentConfig;
  standIns: StandIns;
  clock: ManualClock;
  content: RunningContent;
  send: Send;
  /** Sends a copy as media does before it responds to an upload or deletion. */
  saveMedia(copy: ReturnType<typeof mediaCopy>): Promise<void>;
  /** Restarts the service over the same data. */
  restart(): Promise<void>;
  /** Starts one more process of the service, by default with the same cache of lists. */
  replica(overrides?: Overrides, listCacheMib?: number): Promise<RunningContent & { send: Send }>;
  close(): Promise<void>;
}

export const client = <Definition>(definition: Definition, address: string): GrpcClient<Definition> =>
  testClient('content', definition, address);

/** The stand-ins alone, for a service in another process. */
export const openStandIns = async (): Promise<{
  standIns: StandIns;
  server: GrpcServer;
  addresses: GrpcAddresses;
}> => {
  const standIns = new StandIns();
  const server = await standIn(
    identityOf(standIns),
    gymsOf(standIns),
    walletOf(standIns),
    mediaOf(standIns),
    storeBillingOf(standIns),
  );
  const addresses = {
    IDENTITY_GRPC_ADDRESS: server.address,
    GYMS_GRPC_ADDRESS: server.address,
    WALLET_GRPC_ADDRESS: server.address,
    MEDIA_GRPC_ADDRESS: server.address,
    STORE_BILLING_GRPC_ADDRESS: server.address,
  };
  return { standIns, server, addresses };
};

type GrpcAddresses = Pick<ContentConfig, Extract<keyof ContentConfig, `${string}_GRPC_ADDRESS`>>;

/** Cache sizes for tests of lists, which must be the same without the cache. */

const settings = {
  LOG_LEVEL: 'silent',
  CONTENT_SWEEP_SECONDS: 3_600,
} as const;

/** Closes what it has opened if a later part fails to open. `watched` is for `watchCommands`. */
export const openHarness = async ({
  watched = false,
  listCacheMib = LIST_CACHE_MIB,
} = {}): Promise<Harness> => {
  const cleanup = createCleanup();
  try {
    return await open(cleanup, watched, listCacheMib);
  } catch (error) {
    await cleanup.close();
    throw error;
  }
};

const open = async (cleanup: Cleanup, watched: boolean, listCacheMib: number): Promise<Harness> => {
  const { standIns, server, addresses } = await openStandIns();
  cleanup.defer('stand-ins', () => server.close());
  const config: ContentConfig = {
    ...testConfig('content'),
    AMQP_TOPOLOGY: 'provisioned',
    ...addresses,
    ...settings,
    LIST_CACHE_MIB: listCacheMib,
  };
  const beside = await openServiceHarness('content', config, cleanup, 'content.#');
  const clock = new ManualClock(systemClock.now());
  const harness: Harness = {
    config,
    standIns,
    clock,
    content: await startContent(watched ? monitored(config) : config, { clock }),
    send: (...request) => apiClient('content', harness.content.url)(...request),
    saveMedia: async (copy) => {
      const copies = client(grpcDefinitions.mediaCopies(), harness.content.grpcAddress);
      await copies.call('Save', copy).finally(() => copies.close());
    },
    ...beside,
    restart: async () => {
      await harness.content.close();
      harness.content = await startContent(config, { clock });
    },
    replica: async (overrides = {}, LIST_CACHE_MIB = listCacheMib) => {
      const another = await startContent({ ...config, LIST_CACHE_MIB }, { clock, ...overrides });
      cleanup.defer('replica', () => another.close());
      return { ...another, send: apiClient('content', another.url) };
    },
    close: () => cleanup.close(),
  };
  cleanup.defer('content', () => harness.content.close());
  return harness;
};

/** Runs `work` twenty times concurrently. */
export const together = <T>(work: (index: number) => Promise<T>, times = 20): Promise<T[]> =>
  Promise.all(Array.from({ length: times }, (_, index) => work(index)));

/** Copies a post of a profile `count` times, as if other processes had written the copies. */
export const fillPosts = async (
  connection: Connection,
  like: { profile_key: string; [field: string]: unknown },
  count: number,
): Promise<void> => {
  const posts = connection.collection<{ _id: number } & PostFlags>('posts');
  const stored = await posts.findOne(like);
  if (stored === null) throw new Error('there is no such post');
  const newest = await posts.find({}, { sort: { _id: -1 }, limit: 1 }).next();
  const first = Number(newest?._id) + 1;
  await fillLike(connection, 'posts', (n) => ({ _id: first + n - 1 }), like, count);
  await fillLike(connection, 'posts_texts', (n) => ({ row: first + n - 1 }), { row: stored._id }, count);
  const last = first + count - 1;
  const counters = connection.collection<{ _id: string }>('counters');
  const profiles =
    connection.collection<Pick<ProfileDocument, '_id' | 'kind' | 'is_active' | 'gone'>>('profiles');
  const profile = await profiles.findOne({ _id: like.profile_key });
  if (profile === null) throw new Error('there is no such profile');
  const total = totalKey(stored, profile.kind, { isActive: profile.is_active, gone: profile.gone });
  await profiles.updateOne(
    { _id: like.profile_key },
    { $inc: { [`counts.${countKey(stored)}`]: count }, $max: { newest: last } },
  );
  await counters.updateOne(
    { _id: 'posts/0' },
    // Any row has changed.
    { $inc: { [`counts.${total}`]: count, version: 100 }, $max: { newest: last } },
  );
  await connection
    .collection<{ _id: string }>('sequences')
    .updateOne({ _id: 'posts' }, { $max: { value: last } });
};
