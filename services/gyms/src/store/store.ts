/** The collections of this service. */

import { LIST_CACHE_MIB } from '@fitness/shared/kernel/config.ts';
import type { Logger } from '@fitness/shared/kernel/log.ts';
import { createListMemory } from '@fitness/shared/lists/memory.ts';
import type { ClientSession, Connection } from '@fitness/shared/mongo/connect.ts';
import { inTransaction } from '@fitness/shared/mongo/transaction.ts';
import { type Counters, createCounters } from './counters.ts';
import { createGyms, type Gyms } from './gyms.ts';
import { createOwners, type Owners } from './owners.ts';
import { createRatings, type Ratings } from './ratings.ts';
import { createReferenceData, type ReferenceData } from './reference-data.ts';

export interface Store {
  gyms: Gyms;
  counters: Counters;
  owners: Owners;
  ratings: Ratings;
  referenceData: ReferenceData;
  transaction<T>(work: (session: ClientSession) => Promise<T>): Promise<T>;
}

export const createStore = (
  connection: Connection,
  log: Logger,
  listCacheMib: number = LIST_CACHE_MIB,
): Store => {
  const counters = createCounters(connection);
  const memory = createListMemory(listCacheMib);
  const cache = memory && { memory, changesSince: counters.changesSince };
  const transaction: Store['transaction'] = (work) => inTransaction(connection, work, { log });
  return {
    gyms: createGyms(connection, counters, transaction, cache),
    counters,
    owners: createOwners(connection),
    ratings: createRatings(connection),
    referenceData: createReferenceData(connection),
    transaction,
  };
};
