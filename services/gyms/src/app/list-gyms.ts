/** GET /gyms: newest first, or nearest first when a location is given. */
import { type Caller, can, ownerIdOf } from '@fitness/shared/kernel/caller.ts';
import type { PageOf, PageRequest } from '@fitness/shared/kernel/page.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Point } from '../domain/geohash.ts';
import { type Gym, OWN_GYMS } from '../domain/gym.ts';
import type { GymQuery, ListViewer } from '../store/gym-lists.ts';

interface ListGymsQuery extends Omit<GymQuery, 'viewer'> {
  near?: Point | undefined;
}

const viewerOf = (caller: Caller): ListViewer => {
  if (can(caller, 'gyms.view_all')) return { kind: 'all' };
  const userId = ownerIdOf(caller, OWN_GYMS);
  return userId === undefined ? { kind: 'guest' } : { kind: 'user', userId };
};

export const createListGyms =
  ({ store }: Pick<Dependencies, 'store'>) =>
  ({ near, ...filters }: ListGymsQuery, page: PageRequest, caller: Caller): Promise<PageOf<Gym>> => {
    const query = { ...filters, viewer: viewerOf(caller) };
    return near === undefined ? store.gyms.list(query, page) : store.gyms.listNearest(query, near, page);
  };
