/** The list of training services: boosted ones first, then the newest (contract 5). */
import { type Caller, can } from '@fitness/shared/caller.ts';
import type { CursorKey, PageOf, PageRequest } from '@fitness/shared/http/pagination.ts';
import { serviceFacet, type TrainingService } from '../domain/training-service.ts';
import type { ServiceFilter } from '../store/training-services.ts';
import type { Parts } from './parts.ts';
import { decorateServices, showService, type TrainingServiceResource } from './resources.ts';

export interface TrainingServiceQuery {
  search?: string | undefined;
  userId?: number | undefined;
  minPrice?: number | undefined;
  maxPrice?: number | undefined;
}

/** The page as read, and of it what the viewer may see: a seller with a pending deletion is dropped at reading time. */
export interface TrainingServicePage {
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
    const data = await showPage(parts, viewer, page.rows);
    return { page: withoutHidden(page, data.length, query.userId), data };
  };

/**
 * The numbers of a page must not tell what its rows hide: with one seller asked for, a hidden one has nothing; else the
 * dropped rows are not counted.
 */
const withoutHidden = (
  page: PageOf<TrainingService>,
  shown: number,
  userId: number | undefined,
): PageOf<unknown> => {
  const dropped = page.rows.length - shown;
  if (dropped === 0) return page;
  const isPaged = page.total !== undefined;
  if (userId !== undefined) return { rows: [], total: isPaged ? 0 : undefined, next: undefined };
  return { ...page, total: isPaged ? Number(page.total) - dropped : undefined };
};

/** A row's place: boosted rows have rank 1 and come first. */
const rankedIds = async (
  { store, clock }: Parts,
  filter: ServiceFilter,
  newest: number,
  from: { rank: number; after?: number | undefined; need: number },
): Promise<CursorKey[]> => {
  const now = clock.now();
  const { rank, after, need } = from;
  const boosted =
    rank === 1 ? await store.trainingServices.ids(filter, { boosted: true, now, after, need }, newest) : [];
  const missing = need - boosted.length;
  const rest =
    missing > 0
      ? await store.trainingServices.ids(
          filter,
          { boosted: false, now, after: rank === 1 ? undefined : after, need: missing },
          newest,
        )
      : [];
  return [...boosted.map((id) => [1, id]), ...rest.map((id) => [0, id])];
};

const readPage = async (
  parts: Parts,
  filter: ServiceFilter,
  request: PageRequest,
): Promise<PageOf<TrainingService>> => {
  const { trainingServices, counters } = parts.store;
  const newest = await counters.newestService();
  const total = request.mode === 'page' ? await trainingServices.count(filter, newest) : undefined;
  const skip = request.mode === 'page' ? request.skip : 0;
  if (total !== undefined && skip >= total) return { rows: [], total, next: undefined };
  const [rank = 1, after] = request.mode === 'cursor' ? request.after : [];
  const need = skip + request.perPage + 1;
  const keys = await rankedIds(parts, filter, newest, { rank: rank === 1 ? 1 : 0, after, need });
  const shown = keys.slice(skip, skip + request.perPage);
  const rows = await trainingServices.findMany(shown.map(([, id]) => id ?? 0));
  return { rows, total, next: keys.length > skip + request.perPage ? shown.at(-1) : undefined };
};

/** Four calls a page, whatever it holds: who is hidden, users, media, boosts. */
const showPage = async (
  parts: Parts,
  viewer: Caller,
  rows: readonly TrainingService[],
): Promise<TrainingServiceResource[]> => {
  const sellers = rows.map(({ userId }) => userId);
  const [hidden, users, decorations] = await Promise.all([
    can(viewer, 'users.view_all') ? undefined : parts.users.hidden(sellers),
    parts.users.show(sellers, viewer),
    decorateServices(
      parts.decorations,
      rows.map(({ id }) => id),
    ),
  ]);
  return rows.flatMap((service) => {
    const user = users.get(service.userId);
    const isHidden = hidden?.pending.has(service.userId) || hidden?.gone.has(service.userId);
    // An account without an answer is erased; its services follow within moments.
    if (user === undefined || isHidden) return [];
    return [showService(service, user, decorations)];
  });
};
