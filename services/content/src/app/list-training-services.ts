/** The list of training services: boosted ones first, pro before basic, then the newest. */
import { type Caller, can, ownerIdOf } from '@fitness/shared/kernel/caller.ts';
import type { PageOf, PageRequest } from '@fitness/shared/kernel/page.ts';
import type { Dependencies } from '../dependencies.ts';
import { OWN_SERVICES } from '../domain/access.ts';
import { serviceFacet, type TrainingService } from '../domain/training-service.ts';
import type { ServiceTotals } from '../store/counters.ts';
import type { ServiceFilter } from '../store/training-service-lists.ts';
import {
  createFetchEmbedded,
  type TrainingServiceResource,
  toTrainingServiceResource,
} from './training-service-resource.ts';

interface TrainingServiceQuery extends ServiceFilter {
  search?: string | undefined;
  userId?: number | undefined;
}

/** `data` omits the rows of `page` whose seller the viewer may not see. */
export type ListTrainingServices = (
  viewer: Caller,
  query: TrainingServiceQuery,
  request: PageRequest,
) => Promise<{ page: PageOf<unknown>; data: TrainingServiceResource[] }>;

export const createListTrainingServices = (
  dependencies: Pick<Dependencies, 'store' | 'users' | 'baseUrl' | 'boosts' | 'clock'>,
): ListTrainingServices => {
  const presentPage = createPresentPage(dependencies);
  return async (viewer, query, request) => {
    const page = await readPage(dependencies, facetsFor(viewer, query.userId), query, request);
    const { data, isSellerHidden } = await presentPage(viewer, page, query.userId);
    // A hidden seller gets the totals of an unknown one, so they do not reveal the account.
    const nothing = { rows: [], total: request.mode === 'page' ? 0 : undefined, next: undefined };
    return { page: isSellerHidden ? nothing : withoutHidden(page, data.length), data };
  };
};

/** The lists of what the viewer may see. No row is in two of them. */
const facetsFor = (viewer: Caller, userId: number | undefined): string[] => {
  if (can(viewer, 'posts.view_all')) return [serviceFacet('all', userId)];
  const ownId = ownerIdOf(viewer, OWN_SERVICES);
  if (ownId === undefined) return [serviceFacet('active', userId)];
  if (userId === ownId) return [serviceFacet('all', userId)];
  if (userId !== undefined) return [serviceFacet('active', userId)];
  return [serviceFacet('active'), serviceFacet('inactive', ownId)];
};

/** The total without the hidden rows of this page. Hidden rows of other pages are unknown here. */
const withoutHidden = (page: PageOf<unknown>, shown: number): PageOf<unknown> =>
  page.total === undefined ? page : { ...page, total: page.total - (page.rows.length - shown) };

const readPage = async (
  { store, clock }: Pick<Dependencies, 'store' | 'clock'>,
  facets: readonly string[],
  query: TrainingServiceQuery,
  request: PageRequest,
): Promise<PageOf<TrainingService>> => {
  const totals = await store.counters.services();
  const { search, userId: _inFacets, ...filter } = query;
  const counts = await Promise.all(facets.map((facet) => totalOf(store, facet, filter, totals)));
  const { newest, versions } = totals;
  const total = counts.reduce((sum, count) => sum + count, 0);
  const list = { facets, total, newest, search, versions, ...filter };
  return store.trainingServices.page(list, clock.now(), request);
};

/**
 * The number of rows that pass the filter. Counters have the totals over all sellers without a filter. The list of one seller
 * is short enough to count.
 */
const totalOf = async (
  store: Dependencies['store'],
  facet: string,
  filter: ServiceFilter,
  { active, inactive, versions }: ServiceTotals,
): Promise<number> => {
  if (Object.values(filter).some((value) => value !== undefined))
    return store.trainingServices.count(facet, filter);
  if (facet === serviceFacet('all')) return active + inactive;
  return facet === serviceFacet('active') ? active : store.trainingServices.countIn(facet, versions);
};

/** Makes one call for the sellers of a page. `sellerId`: the seller that the query names. */
const createPresentPage = (dependencies: Pick<Dependencies, 'users' | 'baseUrl' | 'boosts' | 'clock'>) => {
  const { users } = dependencies;
  const fetchEmbedded = createFetchEmbedded(dependencies);
  return async (
    viewer: Caller,
    { rows, total }: PageOf<TrainingService>,
    sellerId: number | undefined,
  ): Promise<{ data: TrainingServiceResource[]; isSellerHidden: boolean }> => {
    // A page past the end has no row of the seller, but its total would reveal how many rows there are.
    const isCounted = sellerId !== undefined && total !== 0;
    const sellerIds = [...rows.map(({ user_id }) => user_id), ...(isCounted ? [sellerId] : [])];
    const [sellers, embedded] = await Promise.all([
      users.sellers(sellerIds, viewer),
      fetchEmbedded(rows, { isList: true }),
    ]);
    const data = rows.flatMap((service) => {
      // Hidden or erased. The event that deletes an erased seller’s training services may not have arrived yet.
      const user = sellers.get(service.user_id);
      return user === undefined ? [] : [toTrainingServiceResource(service, user, embedded)];
    });
    const isSellerHidden = isCounted && !sellers.has(sellerId);
    return { data, isSellerHidden };
  };
};
