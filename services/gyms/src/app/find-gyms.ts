/** Gyms for another service, by id; ids that do not exist are missing. */
import type { Gym } from '../domain/gym.ts';
import type { Parts } from './parts.ts';

export type FindGyms = (ids: readonly number[]) => Promise<Gym[]>;

export const createFindGyms =
  ({ gyms }: Pick<Parts, 'gyms'>): FindGyms =>
  (ids) =>
    gyms.findMany(ids);
