/** The list of training services: boosted ones first, then the newest (contract 5). */
import { type Caller, can } from '@fitness/shared/caller.ts';
import type { PageOf, PageRequest } from '@fitness/shared/http/pagination.ts';
import { asksForText } from '@fitness/shared/text-search.ts';
import { serviceFacet, type TrainingService } from '../domain/training-service.ts';
import type { ServiceFilter } from '../store/training-services.ts';
import type { Parts } from './parts.ts';
import { decorateServices, showService, type TrainingServiceResource } from './resources.ts';

interface TrainingServiceQuery {
  search?: string | undefined;
  userId?: number | undefined;
  minPrice?: number | undefined;
  maxPrice?: number | undefined;
}

/** The page as read, and of it what the viewer may see: a seller with a pending deletion is dropped at reading time. */
interface TrainingServicePage {
  page: PageOf<unknown>;
  data: TrainingServiceResource[];
}

export type ListTrainingServices = (
  viewer: Caller,
  query: TrainingServiceQuery,
  request: PageRequest,
) => Promise<TrainingServicePage>;

/** How many numbers this list's cursor has: whether the last row was boosted, and its id. */
export const CURSOR_LENGTH = 2;

/** The lists that hold what the viewer may see; they have no row in common. */
const facetsFor = (viewer: Caller, userId: number | undefined): string[] => {
  if (can(viewer, 'posts.view_all')) return [serviceFacet('all', userId)];
  if (viewer.kind === 'guest') return [serviceFacet('active', userId)];
  if (userId === viewer.userId) return [serviceFacet('all', userId)];
  if (userId !== undefined) return [serviceFacet('active', userId)];
  return [serviceFacet('active'), serviceFacet('inactive', viewer.userId)];
};

/** How many rows a filter has, its text left aside: the counters know it of everybody's, the rest is counted. */
const totalOf = async (
  { store }: Parts,
  filter: ServiceFilter,
  counts: { active: number; inactive: number },
): Promise<number> => {
  if (filter.minPrice !== undefined || filter.maxPrice !== undefined)
    return store.trainingServices.count(filter);
  const known = new Map([
    [serviceFacet('all'), counts.active + counts.inactive],
    [serviceFacet('active'), counts.active],
  ]);
  const facets = filter.facets.filter((facet) => !known.has(facet));
  const counted = facets.length === 0 ? 0 : await store.trainingServices.count({ ...filter, facets });
  return filter.facets.reduce((sum, facet) => sum + (known.get(facet) ?? 0), counted);
};

export const listTrainingServices =
  (parts: Parts): ListTrainingServices =>
  async (viewer, query, request) => {
    const filter: ServiceFilter = {
      facets: facetsFor(viewer, query.userId),
      minPrice: query.minPrice,
      maxPrice: query.maxPrice,
      search: query.search,
    };
    const page = await readPage(parts, filter, request);
    const { data, isHidden } = await showPage(parts, viewer, page, query.userId);
    // The numbers of a page must not tell what its rows hide: a hidden seller has nothing.
    const nothing = { rows: [], total: request.mode === 'page' ? 0 : undefined, next: undefined };
    return { page: isHidden ? nothing : withoutDropped(page, data.length), data };
  };

const withoutDropped = (page: PageOf<unknown>, shown: number): PageOf<unknown> =>
  page.total === undefined ? page : { ...page, total: page.total - (page.rows.length - shown) };

const readPage = async (
  parts: Parts,
  filter: ServiceFilter,
  request: PageRequest,
): Promise<PageOf<TrainingService>> => {
  const { store, clock } = parts;
  const { newest, ...counts } = await store.counters.services();
  const total = await totalOf(parts, filter, counts);
  if (request.mode === 'page' && request.skip >= total)
    return { rows: [], total: asksForText(filter.search) && total > 0 ? undefined : total, next: undefined };
  return store.trainingServices.page({ filter, total, newest, now: clock.now(), request });
};

/** Four calls a page, whatever it holds: who is hidden, users, media, boosts. `isHidden`: the `seller` asked for is. */
const showPage = async (
  parts: Parts,
  viewer: Caller,
  { rows, total }: PageOf<TrainingService>,
  seller: number | undefined,
): Promise<{ data: TrainingServiceResource[]; isHidden: boolean }> => {
  const sellers = rows.map(({ userId }) => userId);
  // A page past the end has no row of him, and would tell how many there are.
  const asked = seller !== undefined && total !== 0 ? [...sellers, seller] : sellers;
  const [hidden, users, decorations] = await Promise.all([
    can(viewer, 'users.view_all') ? undefined : parts.users.hidden(asked),
    parts.users.show(sellers, viewer),
    decorateServices(
      parts.decorations,
      rows.map(({ id }) => id),
    ),
  ]);
  const isHidden = (id: number): boolean => hidden?.pending.has(id) === true || hidden?.gone.has(id) === true;
  const data = rows.flatMap((service) => {
    const user = users.get(service.userId);
    // An account without an answer is erased; its services follow within moments.
    if (user === undefined || isHidden(service.userId)) return [];
    return [showService(service, user, decorations)];
  });
  const isGone = rows.length > 0 && data.length === 0;
  return { data, isHidden: seller !== undefined && (isGone || isHidden(seller)) };
};
