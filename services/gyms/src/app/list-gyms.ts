/** GET /gyms: newest first, or nearest first when a location is given. */
import { type Caller, can } from '@fitness/shared/kernel/caller.ts';
import type { PageOf, PageRequest } from '@fitness/shared/kernel/page.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Point } from '../domain/geohash.ts';
import type { Gym } from '../domain/gym.ts';
import type { GymQuery, ListViewer } from '../store/gym-lists.ts';

interface ListGymsQuery extends Omit<GymQuery, 'viewer'> {
  near?: Point | undefined;
}

const viewerOf = (caller: Caller): ListViewer => {
  if (can(caller, 'gyms.view_all')) return { kind: 'all' };
  return caller.kind === 'user' ? { kind: 'user', userId: caller.userId } : { kind: 'guest' };
};

export const createListGyms =
  ({ store }: Pick<Dependencies, 'store'>) =>
  ({ near, ...filters }: ListGymsQuery, page: PageRequest, caller: Caller): Promise<PageOf<Gym>> => {
    const query = { ...filters, viewer: viewerOf(caller) };
    return near === undefined ? store.gyms.list(query, page) : store.gyms.listNearest(query, near, page);
  };
