/** GET /gyms/{id}: an inactive gym exists only for its owner and for `gyms.view_all`. */
import type { Caller } from '@fitness/shared/caller.ts';
import { notFound } from '@fitness/shared/error.ts';
import { type Gym, sees } from '../domain/gym.ts';
import type { Parts } from './parts.ts';

export type GetGym = (id: number, caller: Caller) => Promise<Gym>;

/** Throws 404. */
export const createGetGym =
  ({ gyms }: Pick<Parts, 'gyms'>): GetGym =>
  async (id, caller) => {
    const gym = await gyms.find(id);
    if (gym === undefined || !sees(gym, caller)) throw notFound();
    return gym;
  };
