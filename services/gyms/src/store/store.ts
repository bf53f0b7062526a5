import type { Connection } from 'mongoose';
import { createGymCounters, type GymCounters } from './gym-counters.ts';
import { createGymStore, type GymStore } from './gym-store.ts';
import { createOwnerStore, type OwnerStore } from './owner-store.ts';
import { createRatingStore, type RatingStore } from './rating-store.ts';
import { createReferenceStore, type ReferenceStore } from './reference-store.ts';

export interface Store {
  gyms: GymStore;
  counters: GymCounters;
  owners: OwnerStore;
  ratings: RatingStore;
  reference: ReferenceStore;
}

export const createStore = (connection: Connection): Store => {
  const counters = createGymCounters(connection);
  return {
    gyms: createGymStore(connection, counters),
    counters,
    owners: createOwnerStore(connection),
    ratings: createRatingStore(connection),
    reference: createReferenceStore(connection),
  };
};
