/** The lists of gyms, read as described in docs/adr/0101. */
import { type PageOf, type PageRequest, readParts } from '@fitness/shared/kernel/page.ts';
import { createLists, type ListCache } from '@fitness/shared/lists/index.ts';
import type { ListKey, ListRow, Lists, RowSearch } from '@fitness/shared/lists/list.ts';
import { searchIn } from '@fitness/shared/lists/match.ts';
import { readRankedPage } from '@fitness/shared/lists/pages.ts';
import { type Collection, type Connection, type PipelineStage, type QueryFilter, trusted } from 'mongoose';
import { distanceM, neighborhood, type Point } from '../domain/geohash.ts';
import type { Gym } from '../domain/gym.ts';
import type { Counters, GymTotals } from './counters.ts';
import {
  EVERYONE,
  GYM_PROJECTION,
  type GymDocument,
  gymModel,
  NOBODY,
  readGymsById,
  SEARCHED,
  toGym,
} from './gym-document.ts';

/** `all` sees every gym, a user sees the active ones and their own, and a guest sees the active ones. */
export type ListViewer = { kind: 'all' } | { kind: 'user'; userId: number } | { kind: 'guest' };

export interface GymQuery {
  viewer: ListViewer;
  search?: string | undefined;
  cityId?: number | undefined;
  /** Only gyms with at least one of these majors. */
  majorIds?: readonly number[] | undefined;
  ownerId?: number | undefined;
}

export interface GymLists {
  /** Gyms with a live boost first, by level, then the newest. The cursor is `[level, id]`, with level 0 for no live boost. */
  list(query: GymQuery, page: PageRequest, now: Date): Promise<PageOf<Gym>>;
  /** The nearest gyms first, without those that have no location. The cursor is `[meters, id]`. */
  listNearest(query: GymQuery, from: Point, page: PageRequest): Promise<PageOf<Gym>>;
  /** Gyms with a license that is not reviewed yet, the oldest document first. The cursor is its id. */
  listLicensesToReview(page: PageRequest): Promise<PageOf<Gym>>;
}

type Filter = QueryFilter<GymDocument>;

/** Geohash lengths, from cells of about 600 m to those of a subcontinent. Beyond these, all gyms are read. */
const CELL_LENGTHS = [6, 5, 4, 3, 2];
const AFTER_EVERY_GEOHASH = '~';
const ANY_GEOHASH = trusted({ $gte: '' });

/** With more majors than this, a list reads the gyms of the city or all gyms instead: each key is a query. */
const MAJOR_KEYS_MAX = 5;

const anyOf = (values: readonly number[]) => {
  const [only] = values;
  return values.length === 1 && only !== undefined ? only : trusted({ $in: [...values] });
};

const visibleTo = (viewer: ListViewer) => {
  if (viewer.kind === 'all') return trusted({ $gte: NOBODY });
  return anyOf(viewer.kind === 'guest' ? [EVERYONE] : [EVERYONE, viewer.userId]);
};

/** The conditions of a list without its search text, usually the most selective one first. */
const conditionsOf = ({ viewer, cityId, majorIds, ownerId }: GymQuery): Filter => ({
  ...(ownerId === undefined ? {} : { ownerId }),
  ...(cityId === undefined ? {} : { cityId }),
  ...(majorIds === undefined ? {} : { majorIds: anyOf(majorIds) }),
  visibleTo: visibleTo(viewer),
});

/**
 * Two stages, which MongoDB merges into one. The first has one indexed field, for servers whose planner uses an index only for
 * single-field conditions.
 */
const toStages = (conditions: Filter): PipelineStage.Match[] => {
  const [[field, first] = ['', undefined], ...others] = Object.entries(conditions);
  return [{ $match: { [field]: first } }, { $match: Object.fromEntries(others) }];
};

/** Whether a gym meets the conditions of a list, apart from its search text. */
const accepts =
  ({ viewer, cityId, majorIds, ownerId }: GymQuery) =>
  (gym: Pick<Gym, 'isActive' | 'ownerId' | 'cityId' | 'majorIds'>): boolean => {
    const isSeen =
      viewer.kind === 'all' || gym.isActive || (viewer.kind === 'user' && gym.ownerId === viewer.userId);
    return (
      isSeen &&
      (ownerId === undefined || gym.ownerId === ownerId) &&
      (cityId === undefined || gym.cityId === cityId) &&
      (majorIds === undefined || gym.majorIds.some((id) => majorIds.includes(id)))
    );
  };

/** The keys that together cover what a viewer sees. No gym matches two of them. */
const scopeKeys = (viewer: ListViewer): ListKey[] => {
  if (viewer.kind === 'all') return [{ isActive: true }, { isActive: false }];
  const everyone = { visibleTo: EVERYONE };
  return viewer.kind === 'guest' ? [everyone] : [everyone, { visibleTo: viewer.userId }];
};

/** The keys of each filter. The keys of any one filter cover the whole list. A gym may match several keys of one filter. */
const filterKeys = ({ ownerId, cityId, majorIds }: GymQuery): ListKey[][] => [
  ...(ownerId === undefined ? [] : [[{ ownerId }]]),
  ...(cityId === undefined ? [] : [[{ cityId }]]),
  ...(majorIds === undefined || majorIds.length > MAJOR_KEYS_MAX
    ? []
    : [majorIds.map((id) => ({ majorIds: id }))]),
];

/** Whether a list has a filter other than its viewer and its search text. */
const isFiltered = ({ cityId, majorIds, ownerId }: GymQuery): boolean =>
  ownerId !== undefined || cityId !== undefined || majorIds !== undefined;

/** Number of gyms whose locations are read at once. */
const IDS_MAX = 250;

interface Placed extends Point {
  id: number;
  meters: number;
}

const byDistance = (a: Placed, b: Placed): number => a.meters - b.meters || b.id - a.id;

/** Counts the gyms of a list before it is read. */
const createTotals = (connection: Connection, counters: Counters) => {
  const gyms = gymModel(connection);

  /** The number of a user's inactive gyms with a location. */
  const ownPlaced = async ({ viewer }: GymQuery): Promise<number> => {
    if (viewer.kind !== 'user') return 0;
    const own = await gyms
      .find({ visibleTo: viewer.userId }, { geohash: 1 })
      .lean<Pick<GymDocument, 'geohash'>[]>();
    return own.filter(({ geohash }) => geohash !== null).length;
  };

  /** The number of gyms in a list with a filter, without its search text. */
  const ofFiltered = async (query: GymQuery): Promise<number> => {
    const [counted] = await gyms.aggregate<{ total: number }>([
      ...toStages(conditionsOf(query)),
      { $count: 'total' },
    ]);
    return counted?.total ?? 0;
  };

  return {
    ofFiltered,
    /** The number of gyms with a location that a viewer sees. */
    ofPlaced: async (query: GymQuery): Promise<number> => {
      const [{ activePlaced, allPlaced }, own] = await Promise.all([counters.totals(), ownPlaced(query)]);
      return query.viewer.kind === 'all' ? allPlaced : activePlaced + own;
    },
  };
};

/** Gyms with a location, ordered by distance. */
const createNearest = (connection: Connection, counters: Counters, lists: Lists) => {
  const gyms = gymModel(connection);

  /** Reads only ids and locations. The gyms of the page are read after sorting. */
  const locate = async (filter: Filter, from: Point): Promise<Placed[]> => {
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

const createLicensesToReview = (gyms: ReturnType<typeof gymModel>): GymLists['listLicensesToReview'] => {
  /** Two stages, for the same reason as in `toStages`. A list is ordered by the field of the first stage, or by id. */
  const part = (conditions: (after: number) => Filter[], key: string, keyOf: (gym: Gym) => number) => {
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
      count: async (): Promise<number> => {
        const [counted] = await gyms.aggregate<{ total: number }>([...stages(0), { $count: 'total' }]);
        return counted?.total ?? 0;
      },
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

const acceptsRow = (query: GymQuery) => {
  const accept = accepts(query);
  return (stored: ListRow): boolean => accept(stored as unknown as GymDocument);
};

const toRow = (stored: ListRow): Gym => toGym(stored as unknown as GymDocument);

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
  const totals = createTotals(connection, counters);
  const near = createNearest(connection, counters, lists);

  /** Returns gyms in the order of `ids`. Unknown ids are left out. */
  const findMany = async (ids: readonly number[]): Promise<Gym[]> => {
    const byId = new Map((await readGymsById(gyms, ids)).map((gym) => [gym.id, gym]));
    return ids.map((id) => byId.get(id)).filter((gym) => gym !== undefined);
  };

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

  const list: GymLists['list'] = async (query, page, now) => {
    const { viewer, search } = query;
    const counted = await counters.totals();
    const { newest, versions } = counted;
    // The total counts the gyms of the keys, not of the list. A large city is slow to read, even if few of its gyms match.
    const keyed = (await shortest(filterKeys(query), counted)) ?? {
      keys: scopeKeys(viewer),
      total: await totalOf(viewer, counted),
    };
    const total = isFiltered(query) ? await totals.ofFiltered(query) : keyed.total;
    const listed = {
      ...{ ...keyed, newest, search: searchIn(SEARCHED, search), versions },
      accept: isFiltered(query) ? acceptsRow(query) : undefined,
    };
    const ranked = await lists.ranked({ boostedUntil: { $gt: now } }, listed);
    const boosted = ranked.filter((row) => (row.boostedUntil as Date) > now);
    const gymsById = new Map(boosted.map((row) => [row._id, toRow(row)]));
    return readRankedPage(
      {
        ranked: boosted.map((row) => ({ id: row._id, rank: Number(row.boostLevel) })),
        findMany: async (ids) => ids.flatMap((id) => gymsById.get(id) ?? []),
        readRest: async (slice) => {
          const rest = await lists.read({ ...listed, without: [...gymsById.keys()] }, slice);
          return { ...rest, rows: rest.rows.map(toRow) };
        },
        total,
        search,
      },
      page,
    );
  };

  const listNearest: GymLists['listNearest'] = async (query, from, page) => {
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
        rows: matches.rows.map(toRow),
        total: isPaged ? matches.total : undefined,
        next: last && [last.meters, last.id],
      };
    }
    if (skip > 0 && !isFiltered(query)) {
      const placed = await totals.ofPlaced(query);
      if (skip >= placed) return { rows: [], total: placed, next: undefined };
    }
    const { ordered, isAll } = await near.find(query, from, skip + take, after);
    // A gym may have been hidden since it was located.
    const accept = accepts(query);
    const window = ordered.slice(skip, skip + take);
    const last = ordered.length > skip + take ? window.at(-1) : undefined;
    const total = isAll ? ordered.length : undefined;
    return {
      rows: (await findMany(window.map((gym) => gym.id))).filter(accept),
      total: isPaged ? (total ?? (await totals.ofPlaced(query))) : undefined,
      next: last && [last.meters, last.id],
    };
  };

  return { list, listNearest, listLicensesToReview: createLicensesToReview(gyms) };
};
