/** The collections of this service. */
import type { Clock } from '@fitness/shared/kernel/clock.ts';
import { LIST_CACHE_MIB } from '@fitness/shared/kernel/config.ts';
import { createListMemory } from '@fitness/shared/lists/memory.ts';
import type { ClientSession, Connection } from '@fitness/shared/mongo/connect.ts';
import { inTransaction } from '@fitness/shared/mongo/transaction.ts';
import { type Boosts, createBoosts } from './boosts.ts';
import { type Counters, createCounters } from './counters.ts';
import { registerModels } from './models.ts';
import { createPosts, type Posts } from './posts.ts';
import { createProfiles, type Profiles } from './profiles.ts';
import { createTrainees, type Trainees } from './trainees.ts';
import { createTrainingServices, type TrainingServices } from './training-services.ts';

export interface Store {
  posts: Posts;
  profiles: Profiles;
  counters: Counters;
  trainingServices: TrainingServices;
  boosts: Boosts;
  trainees: Trainees;
  transaction<T>(work: (session: ClientSession) => Promise<T>): Promise<T>;
}

export const createStore = (
  connection: Connection,
  realTime: Clock,
  listCacheMib: number = LIST_CACHE_MIB,
): Store => {
  const models = registerModels(connection);
  const counters = createCounters(models);
  const memory = createListMemory(listCacheMib);
  const cache = memory && { memory, changesSince: counters.changesSince };
  const transaction: Store['transaction'] = (work) => inTransaction(connection, work);
  return {
    posts: createPosts(models, counters, transaction, cache),
    profiles: createProfiles(models),
    counters,
    trainingServices: createTrainingServices(models, counters, transaction, cache),
    boosts: createBoosts(models),
    trainees: createTrainees(models, realTime),
    transaction,
  };
};
