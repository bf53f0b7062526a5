/** The lists of training services, read as described in docs/adr/0101. */
import type { PageOf, PageRequest } from '@fitness/shared/kernel/page.ts';
import { createLists, type ListCache } from '@fitness/shared/lists/index.ts';
import { type ListQuery, type ListRow, matchStages, type RowCondition } from '@fitness/shared/lists/list.ts';
import { searchIn } from '@fitness/shared/lists/match.ts';
import { readRankedPage } from '@fitness/shared/lists/pages.ts';
import type { RowTexts } from '@fitness/shared/lists/texts.ts';
import type { ListVersions } from '@fitness/shared/lists/versions.ts';
import { countMatches } from '@fitness/shared/mongo/count-matches.ts';
import type { TrainingService } from '../domain/training-service.ts';
import type { TrainingServiceDocument } from './models/training-services.ts';
import type { Models } from './models.ts';
import { fromDocument, TEXTS } from './training-service-document.ts';

/** The filters of a list that have no facet. */
export interface ServiceFilter {
  minPrice?: number | undefined;
  maxPrice?: number | undefined;
}

interface ServiceList extends ServiceFilter, Pick<ListQuery, 'newest' | 'versions'> {
  search?: string | undefined;
  /** No training service has more than one of these. */
  facets: readonly string[];
  /** The number of rows that pass the filter. */
  total: number;
}

export interface TrainingServiceLists {
  /** Boosted rows first, by level, then the newest. `total` is undefined if a search has too many matches to count. */
  page(list: ServiceList, now: Date, request: PageRequest): Promise<PageOf<TrainingService>>;
  /** The number of rows of a facet that pass the filter, counted by the database. */
  count(facet: string, filter: ServiceFilter): Promise<number>;
  /** The number of rows in a short list. */
  countIn(facet: string, versions: ListVersions): Promise<number>;
}

/** The fields that have a value; undefined if none has one. */
const withValues = <Value>(fields: Record<string, Value | undefined>): Record<string, Value> | undefined => {
  const entries = Object.entries(fields).filter((entry): entry is [string, Value] => entry[1] !== undefined);
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
};

const conditionOf = ({ minPrice, maxPrice }: ServiceFilter): RowCondition | undefined =>
  withValues({ price: withValues({ $gte: minPrice, $lte: maxPrice }) });

const toService = (stored: ListRow): TrainingService =>
  fromDocument(stored as unknown as TrainingServiceDocument);

export const createTrainingServiceLists = (
  { trainingServices }: Pick<Models, 'trainingServices'>,
  { grams }: Pick<RowTexts, 'grams'>,
  cache: ListCache | undefined,
): TrainingServiceLists => {
  const lists = createLists(trainingServices.collection, {
    keysOnly: ['facets'],
    grams,
    texts: TEXTS,
    cache,
  });
  return {
    page: async ({ facets, search, ...list }, now, request) => {
      const { total } = list;
      const condition = conditionOf(list);
      const keys = facets.map((one) => ({ facets: one }));
      const query = { ...list, keys, search: searchIn(TEXTS, search), condition };
      const ranked = await lists.ranked({ boosted_until: { $gt: now } }, query);
      const boosted = ranked.filter((row) => (row.boosted_until as Date) > now);
      const without = boosted.map(({ _id }) => _id);
      const services = new Map(boosted.map((row) => [row._id, toService(row)]));
      return readRankedPage(
        {
          // Rows that an older release stored have no level.
          ranked: boosted.map((row) => ({ id: row._id, rank: Number(row.boost_level ?? 1) })),
          findMany: async (ids) => ids.flatMap((id) => services.get(id) ?? []),
          readRest: async (slice) => {
            const rest = await lists.read({ ...query, without }, slice);
            return { ...rest, rows: rest.rows.map(toService) };
          },
          total,
          search,
        },
        request,
      );
    },
    count: (facet, filter) =>
      countMatches(trainingServices, matchStages({ facets: facet }, conditionOf(filter))),
    countIn: (facets, versions) => lists.count({ facets }, versions),
  };
};
