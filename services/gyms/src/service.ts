import { createLanes } from '@fitness/shared/events/lanes.ts';
import { grpcDefinitions } from '@fitness/shared/grpc/load.ts';
import { inTransaction } from '@fitness/shared/mongo/transaction.ts';
import { createUserDirectory } from '@fitness/shared/resources/user.ts';
import {
  type Foundation,
  type Overrides,
  openFoundation,
  type RunningService,
} from '@fitness/shared/service.ts';
import { createGymOwnership } from './app/blockers/gym-ownership.ts';
import { createCreateGym } from './app/create-gym.ts';
import { createDeleteGym } from './app/delete-gym.ts';
import { createFindGyms } from './app/find-gyms.ts';
import { createForgetAccount } from './app/forget-account.ts';
import { createGetGym } from './app/get-gym.ts';
import { createPresentGyms } from './app/gym-resource.ts';
import { createAttachLicense, createForgetLicense } from './app/license-document.ts';
import { createListGyms } from './app/list-gyms.ts';
import { createListCities, createListMajors } from './app/list-reference.ts';
import type { Parts } from './app/parts.ts';
import { createRateGym } from './app/rate-gym.ts';
import { createSetCrowd } from './app/set-crowd.ts';
import { createSetWorkingPeriods } from './app/set-working-periods.ts';
import { createUpdateGym } from './app/update-gym.ts';
import { createDocuments } from './clients/documents.ts';
import { createGymExtras } from './clients/extras.ts';
import type { GymsConfig } from './config.ts';
import { CITIES, MAJORS, STATES } from './domain/reference-data.ts';
import { gymConsumers } from './events/consumers.ts';
import { blockersGrpc } from './grpc/blockers.ts';
import { gymsGrpc } from './grpc/gyms.ts';
import type { HttpParts } from './http/parts.ts';
import { gymRoutes } from './http/routes.ts';
import { createGymCounters, type GymCounters } from './store/gym-counters.ts';
import { createGymStore } from './store/gym-store.ts';
import { createOwnerStore } from './store/owner-store.ts';
import { createRatingStore } from './store/rating-store.ts';
import { createReferenceStore } from './store/reference-store.ts';

const createParts = (foundation: Foundation, config: GymsConfig, counters: GymCounters): Parts => {
  const { connection, log, outbox, sequences, clock } = foundation;
  const identity = foundation.grpcClient(
    'identity',
    grpcDefinitions.identity(),
    config.IDENTITY_GRPC_ADDRESS,
  );
  const media = foundation.grpcClient('media', grpcDefinitions.media(), config.MEDIA_GRPC_ADDRESS);
  const storeBilling = foundation.grpcClient(
    'store-billing',
    grpcDefinitions.storeBilling(),
    config.STORE_BILLING_GRPC_ADDRESS,
  );
  return {
    gyms: createGymStore(connection, counters),
    owners: createOwnerStore(connection),
    ratings: createRatingStore(connection),
    reference: createReferenceStore(connection),
    users: createUserDirectory(identity),
    extras: createGymExtras({ media, storeBilling, log }),
    documents: createDocuments(media, log),
    outbox,
    sequences,
    clock,
    lanes: createLanes(),
    transact: (work) => inTransaction(connection, work, { log }),
  };
};

const createHttpParts = (parts: Parts, config: GymsConfig): HttpParts => ({
  createGym: createCreateGym(parts),
  deleteGym: createDeleteGym(parts),
  getGym: createGetGym(parts),
  listCities: createListCities(parts),
  listGyms: createListGyms(parts),
  listMajors: createListMajors(parts),
  presentGyms: createPresentGyms(parts),
  rateGym: createRateGym(parts),
  setCrowd: createSetCrowd(parts),
  setWorkingPeriods: createSetWorkingPeriods(parts),
  updateGym: createUpdateGym(parts),
  baseUrl: config.PUBLIC_BASE_URL,
});

export const startGyms = async (config: GymsConfig, overrides: Overrides = {}): Promise<RunningService> => {
  const foundation = await openFoundation('gyms', config, overrides);
  const counters = createGymCounters(foundation.connection);
  const parts = createParts(foundation, config, counters);
  const attachLicense = createAttachLicense(parts);
  return foundation.serve({
    routes: gymRoutes(createHttpParts(parts, config)),
    grpc: [
      gymsGrpc({
        findGyms: createFindGyms(parts),
        attachLicense: (document) => parts.transact((session) => attachLicense(session, document)),
      }),
      blockersGrpc({ gym_ownership: createGymOwnership(parts) }),
    ],
    consumers: gymConsumers({
      attachLicense,
      forgetLicense: createForgetLicense(parts),
      forgetAccount: createForgetAccount(parts),
    }),
    beforeOpen: async () => {
      await parts.reference.seed({ states: STATES, cities: CITIES, majors: MAJORS });
      await counters.prepare();
    },
  });
};
