import type { Dependencies } from '../dependencies.ts';
import type { Gym } from '../domain/gym.ts';

/** Returns gyms by id, for other services. Unknown ids are left out. */
export const createFindGyms =
  ({ store }: Dependencies) =>
  (ids: readonly number[]): Promise<Gym[]> =>
    store.gyms.findMany(ids);
