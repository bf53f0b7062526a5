/** Gyms with a location, the nearest first. An index over geohashes is read in growing rings of cells. */
import type { PageOf, PageRequest } from '@fitness/shared/kernel/page.ts';
import type { Lists, RowSearch } from '@fitness/shared/lists/list.ts';
import { searchIn } from '@fitness/shared/lists/match.ts';
import { type Model, trusted } from 'mongoose';
import { distanceM, neighborhood, type Point } from '../domain/geohash.ts';
import type { Gym } from '../domain/gym.ts';
import type { Counters } from './counters.ts';
import { type GymDocument, readGymsById, SEARCHED, toGymRow } from './gym-document.ts';
import {
  accepts,
  acceptsRow,
  conditionsOf,
  type GymFilter,
  type GymQuery,
  isFiltered,
  toStages,
} from './gym-filter.ts';

/** Geohash lengths, from cells of about 600 m to those of a subcontinent. Beyond these, all gyms are read. */
const CELL_LENGTHS = [6, 5, 4, 3, 2];
const AFTER_EVERY_GEOHASH = '~';
const ANY_GEOHASH = trusted({ $gte: '' });
/** Number of gyms whose locations are read at once. */
const IDS_MAX = 250;

interface Placed extends Point {
  id: number;
  meters: number;
}

const byDistance = (a: Placed, b: Placed): number => a.meters - b.meters || b.id - a.id;

/** The number of gyms with a location that a viewer sees. */
const countPlaced = async (
  gyms: Model<GymDocument>,
  counters: Counters,
  { viewer }: GymQuery,
): Promise<number> => {
  const ownPlaced = async (): Promise<number> => {
    if (viewer.kind !== 'user') return 0;
    const own = await gyms
      .find({ visibleTo: viewer.userId }, { geohash: 1 })
      .lean<Pick<GymDocument, 'geohash'>[]>();
    return own.filter(({ geohash }) => geohash !== null).length;
  };
  const [{ activePlaced, allPlaced }, own] = await Promise.all([counters.totals(), ownPlaced()]);
  return viewer.kind === 'all' ? allPlaced : activePlaced + own;
};

/** Finds gyms with a location, and their distances. */
const createNearest = (gyms: Model<GymDocument>, counters: Counters, lists: Lists) => {
  /** Reads only ids and locations. The gyms of the page are read after sorting. */
  const locate = async (filter: GymFilter, from: Point): Promise<Placed[]> => {
    const stages = [...toStages(filter), { $project: { lat: 1, lng: 1 } }];
    const placed: Placed[] = [];
    // A cursor reads in batches, so other requests are served in between.
    for await (const { _id, lat, lng } of gyms.aggregate<{ _id: number; lat: number; lng: number }>(stages)) {
      placed.push({ id: _id, lat, lng, meters: distanceM(from, { lat, lng }) });
    }
    return placed;
  };

  const inCells = async (query: GymQuery, cells: readonly string[], from: Point): Promise<Placed[]> => {
    const perCell = await Promise.all(
      cells.map((cell) => {
        const geohash = trusted({ $gte: cell, $lt: `${cell}${AFTER_EVERY_GEOHASH}` });
        return locate({ geohash, ...conditionsOf(query) }, from);
      }),
    );
    return perCell.flat();
  };

  /** Every gym that matches the filters and may contain the search text. */
  const candidates = async (query: GymQuery, search: RowSearch, from: Point): Promise<Placed[]> => {
    const conditions = { ...conditionsOf(query), geohash: ANY_GEOHASH };
    // An owner is more selective than a text, and a text is usually more selective than a city.
    if (query.ownerId !== undefined) return locate(conditions, from);
    const { newest, versions } = await counters.totals();
    const ids = await lists.mayMatch({ search, newest, versions });
    const placed: Placed[] = [];
    for (let start = 0; start < ids.length; start += IDS_MAX) {
      const _id = trusted({ $in: ids.slice(start, start + IDS_MAX) });
      placed.push(...(await locate({ _id, ...conditions }, from)));
    }
    return placed;
  };

  return {
    candidates,
    /**
     * Returns at least the nearest `limit` gyms for which `after` is true, and one more if there is one, in order. `isAll` says
     * whether all gyms were read.
     */
    find: async (
      query: GymQuery,
      from: Point,
      limit: number,
      after: (gym: Placed) => boolean,
    ): Promise<{ ordered: Placed[]; isAll: boolean }> => {
      for (const length of isFiltered(query) ? [] : CELL_LENGTHS) {
        const around = neighborhood(from, length);
        if (around === undefined) break;
        const near = await inCells(query, around.cells, from);
        const certain = near.filter((gym) => gym.meters <= around.radiusM && after(gym));
        if (certain.length > limit) return { ordered: certain.toSorted(byDistance), isAll: false };
      }
      const conditions = conditionsOf(query);
      // The first condition chooses the index: a filter is more selective than having a location.
      const all = await locate(
        isFiltered(query) ? { ...conditions, geohash: ANY_GEOHASH } : { geohash: ANY_GEOHASH, ...conditions },
        from,
      );
      return { ordered: all.filter(after).toSorted(byDistance), isAll: true };
    },
  };
};

/** Returns gyms in the order of `ids`. Unknown ids are left out. */
const findMany = async (gyms: Model<GymDocument>, ids: readonly number[]): Promise<Gym[]> => {
  const byId = new Map((await readGymsById(gyms, ids)).map((gym) => [gym.id, gym]));
  return ids.map((id) => byId.get(id)).filter((gym) => gym !== undefined);
};

type ListNearest = (query: GymQuery, from: Point, page: PageRequest) => Promise<PageOf<Gym>>;

export const createListNearest = (
  gyms: Model<GymDocument>,
  counters: Counters,
  lists: Lists,
): ListNearest => {
  const near = createNearest(gyms, counters, lists);
  return async (query, from, page) => {
    const [meters = -1, id = 0] = page.mode === 'cursor' ? page.after : [];
    const after = (gym: Placed): boolean => gym.meters > meters || (gym.meters === meters && gym.id < id);
    const isPaged = page.mode === 'page';
    const skip = isPaged ? page.skip : 0;
    const take = page.perPage;
    const search = searchIn(SEARCHED, query.search);
    if (search !== undefined) {
      const candidates = await near.candidates(query, search, from);
      const ordered = candidates.filter(after).toSorted(byDistance);
      const { versions } = await counters.totals();
      const slice = { skip, take, counted: isPaged, signal: page.signal };
      const ids = ordered.map((gym) => gym.id);
      const matches = await lists.among({ ids, search, accept: acceptsRow(query), versions }, slice);
      const lastId = matches.continueAfter ?? matches.rows.at(-1)?._id;
      const last = matches.more ? ordered.find((gym) => gym.id === lastId) : undefined;
      return {
        rows: matches.rows.map(toGymRow),
        total: isPaged ? matches.total : undefined,
        next: last && [last.meters, last.id],
      };
    }
    if (skip > 0 && !isFiltered(query)) {
      const placed = await countPlaced(gyms, counters, query);
      if (skip >= placed) return { rows: [], total: placed, next: undefined };
    }
    const { ordered, isAll } = await near.find(query, from, skip + take, after);
    // A gym may have been hidden since it was located.
    const accept = accepts(query);
    const window = ordered.slice(skip, skip + take);
    const last = ordered.length > skip + take ? window.at(-1) : undefined;
    const total = isAll ? ordered.length : undefined;
    return {
      rows: (
        await findMany(
          gyms,
          window.map((gym) => gym.id),
        )
      ).filter(accept),
      total: isPaged ? (total ?? (await countPlaced(gyms, counters, query))) : undefined,
      next: last && [last.meters, last.id],
    };
  };
};
