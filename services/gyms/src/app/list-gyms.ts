/**
 * GET /gyms: gyms with a live boost first (pro before basic), then the newest. With a location, the nearest come first.
 */
import { type Caller, can, ownerIdOf } from '@fitness/shared/kernel/caller.ts';
import { missingPermission } from '@fitness/shared/kernel/missing-permission.ts';
import type { PageOf, PageRequest } from '@fitness/shared/kernel/page.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Point } from '../domain/geohash.ts';
import { type Gym, OWN_GYMS } from '../domain/gym.ts';
import type { GymQuery, ListViewer } from '../store/gym-filter.ts';

interface ListGymsQuery extends Omit<GymQuery, 'viewer'> {
  near?: Point | undefined;
}

const viewerOf = (caller: Caller): ListViewer => {
  if (can(caller, 'gyms.view_all')) return { kind: 'all' };
  const userId = ownerIdOf(caller, OWN_GYMS);
  return userId === undefined ? { kind: 'guest' } : { kind: 'user', userId };
};

/** Throws 403. Only the owner and `gyms.view_all` may know who owns a gym, so a filter must not reveal it to others. */
const assertMayFilterByOwner = (caller: Caller, ownerId: number): void => {
  if (can(caller, 'gyms.view_all') || ownerIdOf(caller, OWN_GYMS) === ownerId) return;
  const isOwn = caller.kind === 'user' && caller.userId === ownerId;
  const permissions = isOwn ? ([OWN_GYMS, 'gyms.view_all'] as const) : (['gyms.view_all'] as const);
  throw missingPermission(caller, { permissions });
};

/** Throws 403 for the gyms of another owner. */
export const createListGyms =
  ({ store, clock }: Dependencies) =>
  async ({ near, ...filters }: ListGymsQuery, page: PageRequest, caller: Caller): Promise<PageOf<Gym>> => {
    const { ownerId } = filters;
    if (ownerId !== undefined) assertMayFilterByOwner(caller, ownerId);
    const query = { ...filters, viewer: viewerOf(caller) };
    return near === undefined
      ? store.gyms.list(query, page, clock.now())
      : store.gyms.listNearest(query, near, page);
  };
