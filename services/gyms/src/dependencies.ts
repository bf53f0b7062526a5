import { createUserDirectory, type UserDirectory } from '@fitness/contracts/user.ts';
import { grpcDefinitions } from '@fitness/shared/grpc/load.ts';
import type { Clock } from '@fitness/shared/kernel/clock.ts';
import { createKeyedQueue, type KeyedQueue } from '@fitness/shared/kernel/keyed-queue.ts';
import type { Outbox } from '@fitness/shared/messaging/outbox.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Sequences } from '@fitness/shared/mongo/sequence.ts';
import { inTransaction } from '@fitness/shared/mongo/transaction.ts';
import type { ServiceRuntime } from '@fitness/shared/runtime/service-runtime.ts';
import { createDocuments, type Documents } from './clients/documents.ts';
import { createGymExtras, type GymExtras } from './clients/extras.ts';
import type { GymsConfig } from './config.ts';
import { createStore, type Store } from './store/store.ts';

export interface Dependencies {
  store: Store;
  users: Pick<UserDirectory, 'getMany'>;
  extras: GymExtras;
  documents: Documents;
  outbox: Outbox;
  sequences: Sequences;
  clock: Clock;
  /**
   * Runs the writes of one gym, by its id, one after the other in this process. The database alone would restart the
   * losing transactions, and with many writers of one gym some would exceed their timeout.
   */
  gymQueue: KeyedQueue;
  /** Runs `work` in a transaction, and again after a transient error. */
  transact: <T>(work: (session: ClientSession) => Promise<T>) => Promise<T>;
}

export const createDependencies = (runtime: ServiceRuntime, config: GymsConfig): Dependencies => {
  const { connection, log, outbox, sequences, clock } = runtime;
  const identity = runtime.grpcClient('identity', grpcDefinitions.identity(), config.IDENTITY_GRPC_ADDRESS);
  const media = runtime.grpcClient('media', grpcDefinitions.media(), config.MEDIA_GRPC_ADDRESS);
  const storeBilling = runtime.grpcClient(
    'store-billing',
    grpcDefinitions.storeBilling(),
    config.STORE_BILLING_GRPC_ADDRESS,
  );
  return {
    store: createStore(connection),
    users: createUserDirectory(identity),
    extras: createGymExtras({ media, storeBilling, log }),
    documents: createDocuments({ media, log }),
    outbox,
    sequences,
    clock,
    gymQueue: createKeyedQueue(),
    transact: (work) => inTransaction(connection, work, { log }),
  };
};
