/** A running gyms service with stand-ins for the services that it calls. */

import type { MediaCopy } from '@fitness/proto/gen/fitness/common/v1/MediaCopy.ts';
import type { User } from '@fitness/proto/gen/fitness/identity/v1/User.ts';
import type { Boost } from '@fitness/proto/gen/fitness/store_billing/v1/Boost.ts';
import { grpcDefinitions } from '@fitness/shared/grpc/load.ts';
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { LIST_CACHE_MIB } from '@fitness/shared/kernel/config.ts';
import { unavailable } from '@fitness/shared/kernel/error.ts';
import { MEMBER_PERMISSIONS, type Permission } from '@fitness/shared/kernel/permissions.ts';
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
import type { GymsConfig } from '../src/config.ts';
import { startGyms } from '../src/service.ts';

const OPERATOR_PERMISSIONS: readonly Permission[] = [
  ...MEMBER_PERMISSIONS,
  'users.view_all',
  'gyms.update_any',
  'gyms.transfer_ownership',
  'gyms.approve_license',
  'gyms.view_all',
];

/** The stand-in for identity has the users 1 to this id. */
const LAST_USER = 999;
export const UNKNOWN_USER = 4_000;

export const member = (id: number): UserCaller => caller(id);
export const operator = (id = 900): UserCaller => caller(id, OPERATOR_PERMISSIONS);
export const holder = (id: number, ...permissions: Permission[]): UserCaller => caller(id, permissions);

interface StandIns {
  /** A service that is turned off returns `unavailable`. */
  up: { identity: boolean; media: boolean; storeBilling: boolean };
  boosts: Boost[];
  /** Runs after store-billing has read the boosts, and before it answers. */
  whileReadingBoosts: (() => Promise<void>) | undefined;
  media: MediaCopy[];
  /** Every call that was received. */
  calls: { method: string; request: unknown }[];
}

const CREATE_TRIES = 5;

const userOf = (id: number): User => ({
  id,
  email: `u${id}@example.com`,
  phone: `+98912${id}`,
  username: `user${id}`,
  first_name: 'A',
  last_name: 'B',
  created_at: '2026-01-01 00:00:00',
  referral_code: `R${id}`,
  is_trainer: false,
  is_gym_owner: false,
});

const startStandIns = async () => {
  const standIns: StandIns = {
    up: { identity: true, media: true, storeBilling: true },
    boosts: [],
    whileReadingBoosts: undefined,
    media: [],
    calls: [],
  };
  const note = (service: keyof StandIns['up'], method: string, request: unknown): void => {
    standIns.calls.push({ method, request });
    if (!standIns.up[service]) throw unavailable(`${service} is off`);
  };
  const server = await standIn(
    standInService(grpcDefinitions.identity(), {
      GetUsers: async (request) => {
        note('identity', 'GetUsers', request);
        return { users: request.ids.filter((id) => id <= LAST_USER).map(userOf) };
      },
    }),
    standInService(grpcDefinitions.media(), {
      GetCopies: async (request) => {
        note('media', 'GetCopies', request);
        return { copies: standIns.media };
      },
      DeleteByPurpose: async (request) => {
        note('media', 'DeleteByPurpose', request);
        return { deleted: true };
      },
    }),
    standInService(grpcDefinitions.storeBilling(), {
      GetBoosts: async (request) => {
        note('storeBilling', 'GetBoosts', request);
        const ids = request.targets.map(({ id }) => id);
        const boosts = standIns.boosts.filter(({ boostable_id }) => ids.includes(Number(boostable_id)));
        await standIns.whileReadingBoosts?.();
        return { boosts };
      },
    }),
  );
  return { standIns, server };
};

export interface Harness extends ServiceHarness {
  config: GymsConfig;
  /** Where the service listens. */
  url: string;
  send: Send;
  clock: ManualClock;
  standIns: StandIns;
  gyms: ReturnType<typeof gymsClient>;
  blockers: ReturnType<typeof blockersClient>;
  mediaCopies: ReturnType<typeof mediaCopiesClient>;
  /** Closes the service of this process, but not its replicas. */
  closeService(): Promise<void>;
  /** Starts one more replica of the service, by default with the same cache of lists. */
  replica(listCacheMib?: number): Promise<Send>;
  /** Creates a gym of `owner` and returns its id. */
  createGym(owner: UserCaller, body?: Record<string, unknown>): Promise<number>;
  close(): Promise<void>;
}

const gymsClient = (address: string) => testClient('gyms', grpcDefinitions.gyms(), address);
const mediaCopiesClient = (address: string) => testClient('gyms', grpcDefinitions.mediaCopies(), address);
const blockersClient = (address: string) => testClient('gyms', grpcDefinitions.blockers(), address);

/** The cache sizes that list tests run with: lists are the same without the cache. */
export const LIST_CACHES = [LIST_CACHE_MIB, 0];

/** `watched` enables `watchCommands`. */
export const openHarness = async ({
  watched = false,
  listCacheMib = LIST_CACHE_MIB,
} = {}): Promise<Harness> => {
  const cleanup = createCleanup();
  const { standIns, server } = await startStandIns();
  cleanup.defer('stand-ins', () => server.close());
  const config: GymsConfig = {
    ...testConfig('gyms'),
    AMQP_TOPOLOGY: 'provisioned',
    LOG_LEVEL: 'silent',
    IDENTITY_GRPC_ADDRESS: server.address,
    MEDIA_GRPC_ADDRESS: server.address,
    STORE_BILLING_GRPC_ADDRESS: server.address,
    LIST_CACHE_MIB: listCacheMib,
  };
  const serviceHarness = await openServiceHarness('gyms', config, cleanup);
  const clock = new ManualClock();
  const service = await startGyms(watched ? monitored(config) : config, { clock });
  cleanup.defer('service', () => service.close());
  const replica = async (LIST_CACHE_MIB = listCacheMib): Promise<Send> => {
    const another = await startGyms({ ...config, LIST_CACHE_MIB }, { clock });
    cleanup.defer('replica', () => another.close());
    return apiClient('gyms', another.url);
  };
  const gyms = gymsClient(service.grpcAddress);
  const mediaCopies = mediaCopiesClient(service.grpcAddress);
  cleanup.defer('client of media copies', () => mediaCopies.close());
  const blockers = blockersClient(service.grpcAddress);
  cleanup.defer('client of gyms', () => gyms.close());
  cleanup.defer('client of blockers', () => blockers.close());
  const send = apiClient('gyms', service.url);
  const createGym: Harness['createGym'] = async (owner, body = {}) => {
    const place = { name: 'Gym', address: 'Street 1', location_lat: 35.7, location_lng: 51.4 };
    for (let tries = 1; ; tries += 1) {
      const answer = await send('POST', '/gyms', { as: owner, body: { ...place, ...body } });
      if (answer.status === 201) return answer.body.gym.id;
      // On a slow database, some of many concurrent writes exceed their timeout (503). Nothing of them is stored.
      if (answer.status !== 503 || tries === CREATE_TRIES)
        throw new Error(`no gym: ${answer.status} ${answer.text}`);
    }
  };
  return {
    config,
    url: service.url,
    send,
    clock,
    standIns,
    ...serviceHarness,
    gyms,
    blockers,
    mediaCopies,
    closeService: () => service.close(),
    replica,
    createGym,
    close: () => cleanup.close(),
  };
};

/** Repeats a request after a 503: on a slow database, some of many concurrent writes exceed their timeout. */
export const untilAccepted = async (send: () => Promise<Answer>, tries = 5): Promise<Answer> => {
  const answer = await send();
  return answer.status === 503 && tries > 1 ? untilAccepted(send, tries - 1) : answer;
};
