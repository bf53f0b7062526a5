/** GET /gyms: newest first, or nearest first where a place is given. */
import { type Caller, can } from '@fitness/shared/caller.ts';
import type { PageOf, PageRequest } from '@fitness/shared/http/pagination.ts';
import type { Point } from '../domain/geohash.ts';
import type { Gym } from '../domain/gym.ts';
import type { GymQuery, ListViewer } from '../store/gym-store.ts';
import type { Parts } from './parts.ts';

interface ListGymsQuery extends Omit<GymQuery, 'viewer'> {
  near?: Point | undefined;
}

export type ListGyms = (query: ListGymsQuery, page: PageRequest, caller: Caller) => Promise<PageOf<Gym>>;

const viewerOf = (caller: Caller): ListViewer => {
  if (can(caller, 'gyms.view_all')) return { kind: 'all' };
  return caller.kind === 'user' ? { kind: 'user', userId: caller.userId } : { kind: 'guest' };
};

export const createListGyms =
  ({ gyms }: Pick<Parts, 'gyms'>): ListGyms =>
  ({ near, ...query }, page, caller) => {
    const seen = { ...query, viewer: viewerOf(caller) };
    return near === undefined ? gyms.list(seen, page) : gyms.listNearest(seen, near, page);
  };
