/** GET /gyms/{id}: an inactive gym exists only for its owner and for `gyms.view_all`. */
import type { Caller } from '@fitness/shared/kernel/caller.ts';
import { notFound } from '@fitness/shared/kernel/error.ts';
import type { Dependencies } from '../dependencies.ts';
import { type Gym, sees } from '../domain/gym.ts';

/** Throws 404. */
export const createGetGym =
  ({ store }: Dependencies) =>
  async (id: number, caller: Caller): Promise<Gym> => {
    const gym = await store.gyms.find(id);
    if (gym === undefined || !sees(gym, caller)) throw notFound();
    return gym;
  };
