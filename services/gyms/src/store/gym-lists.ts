/** The lists of gyms, read as described in docs/adr/0101. */
import { type PageOf, type PageRequest, readParts } from '@fitness/shared/kernel/page.ts';
import { createLists, type ListCache } from '@fitness/shared/lists/index.ts';
import type { ListKey, Lists } from '@fitness/shared/lists/list.ts';
import { searchIn } from '@fitness/shared/lists/match.ts';
import { readRankedPage } from '@fitness/shared/lists/pages.ts';
import { countMatches } from '@fitness/shared/mongo/count-matches.ts';
import type { Collection, Connection, Model, PipelineStage } from 'mongoose';
import type { Point } from '../domain/geohash.ts';
import type { Gym } from '../domain/gym.ts';
import type { Counters, GymTotals } from './counters.ts';
import { GYM_PROJECTION, type GymDocument, gymModel, SEARCHED, toGym, toGymRow } from './gym-document.ts';
import {
  acceptsRow,
  conditionsOf,
  filterKeys,
  type GymFilter,
  type GymQuery,
  isFiltered,
  type ListViewer,
  scopeKeys,
  toStages,
} from './gym-filter.ts';
import { createListNearest } from './nearest-gyms.ts';

export interface GymLists {
  /** Gyms with a live boost first, by level, then the newest. The cursor is `[level, id]`, with level 0 for no live boost. */
  list(query: GymQuery, page: PageRequest, now: Date): Promise<PageOf<Gym>>;
  /** The nearest gyms first, without those that have no location. The cursor is `[meters, id]`. */
  listNearest(query: GymQuery, from: Point, page: PageRequest): Promise<PageOf<Gym>>;
  /** Gyms with a license that is not reviewed yet, the oldest document first. The cursor is its id. */
  listLicensesToReview(page: PageRequest): Promise<PageOf<Gym>>;
}

const createLicensesToReview = (gyms: Model<GymDocument>): GymLists['listLicensesToReview'] => {
  /** Two stages, for the same reason as in `toStages`. A list is ordered by the field of the first stage, or by id. */
  const part = (conditions: (after: number) => GymFilter[], key: string, keyOf: (gym: Gym) => number) => {
    const stages = (after: number): PipelineStage.Match[] =>
      conditions(after).map((condition) => ({ $match: condition }));
    return {
      read: async ({
        skip,
        limit,
        after,
      }: {
        skip: number;
        limit: number;
        after: number;
      }): Promise<Gym[]> => {
        const documents = await gyms.aggregate<GymDocument>([
          ...stages(after),
          { $sort: { [key]: 1 } },
          { $skip: skip },
          { $limit: limit },
          { $project: GYM_PROJECTION },
        ]);
        return documents.map(toGym);
      },
      count: () => countMatches(gyms, stages(0)),
      keyOf,
    };
  };
  const unreviewed = part(
    (after) => [{ 'license.mediaId': { $gt: after } }, { 'license.approved': null }],
    'license.mediaId',
    (gym) => gym.license.mediaId ?? 0,
  );
  // The first condition repeats the condition of the partial index.
  const renamed = part(
    (after) => [{ 'license.reviewedName': { $gte: '' } }, { _id: { $gt: after } }],
    '_id',
    (gym) => gym.id,
  );
  return (page) => readParts([unreviewed, renamed], page);
};

/**
 * Chooses the keys of a list. The total counts the gyms of the keys, not of the list. A large city is slow to read, even if few of
 * its gyms match.
 */
const createChooseKeys = (lists: Lists) => {
  const countKeys = async (keys: readonly ListKey[], { versions }: GymTotals): Promise<number> => {
    const counts = await Promise.all(keys.map((key) => lists.count(key, versions)));
    return counts.reduce((sum, count) => sum + count, 0);
  };

  /** The filter that matches the fewest gyms. */
  const shortest = async (
    filters: readonly ListKey[][],
    counted: GymTotals,
  ): Promise<{ keys: ListKey[]; total: number } | undefined> => {
    const sizes = await Promise.all(
      filters.map(async (keys) => ({ keys, total: await countKeys(keys, counted) })),
    );
    return sizes.toSorted((a, b) => a.total - b.total)[0];
  };

  /** The number of gyms that a viewer sees. */
  const totalOf = async (viewer: ListViewer, counted: GymTotals): Promise<number> => {
    if (viewer.kind === 'all') return counted.all;
    const [, ...own] = scopeKeys(viewer);
    return counted.active + (await countKeys(own, counted));
  };

  return async (query: GymQuery, counted: GymTotals): Promise<{ keys: ListKey[]; total: number }> =>
    (await shortest(filterKeys(query), counted)) ?? {
      keys: scopeKeys(query.viewer),
      total: await totalOf(query.viewer, counted),
    };
};

export const createGymLists = (
  connection: Connection,
  counters: Counters,
  grams: Collection,
  cache: ListCache | undefined,
): GymLists => {
  const gyms = gymModel(connection);
  const lists = createLists(gyms.collection, {
    hiddenFields: Object.keys(GYM_PROJECTION),
    grams,
    texts: SEARCHED,
    cache,
  });
  const chooseKeys = createChooseKeys(lists);
  return {
    list: async (query, page, now) => {
      const { search } = query;
      const counted = await counters.totals();
      const { newest, versions } = counted;
      const keyed = await chooseKeys(query, counted);
      // Without the search text.
      const total = isFiltered(query) ? await countMatches(gyms, toStages(conditionsOf(query))) : keyed.total;
      const listed = {
        ...{ ...keyed, newest, search: searchIn(SEARCHED, search), versions },
        accept: isFiltered(query) ? acceptsRow(query) : undefined,
      };
      const ranked = await lists.ranked({ boostedUntil: { $gt: now } }, listed);
      const boosted = ranked.filter((row) => (row.boostedUntil as Date) > now);
      const gymsById = new Map(boosted.map((row) => [row._id, toGymRow(row)]));
      return readRankedPage(
        {
          ranked: boosted.map((row) => ({ id: row._id, rank: Number(row.boostLevel) })),
          findMany: async (ids) => ids.flatMap((id) => gymsById.get(id) ?? []),
          readRest: async (slice) => {
            const rest = await lists.read({ ...listed, without: [...gymsById.keys()] }, slice);
            return { ...rest, rows: rest.rows.map(toGymRow) };
          },
          total,
          search,
        },
        page,
      );
    },
    listNearest: createListNearest(gyms, counters, lists),
    listLicensesToReview: createLicensesToReview(gyms),
  };
};
