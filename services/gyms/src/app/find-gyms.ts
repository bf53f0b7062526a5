import type { Dependencies } from '../dependencies.ts';
import type { Gym } from '../domain/gym.ts';

/** Gyms by id, for another service; unknown ids are missing. */
export const createFindGyms =
  ({ store }: Pick<Dependencies, 'store'>) =>
  (ids: readonly number[]): Promise<Gym[]> =>
    store.gyms.findMany(ids);
