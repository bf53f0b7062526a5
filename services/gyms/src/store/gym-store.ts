/** Gyms in the database. The lists are read as docs/adr/0013 says. */

import type { PageOf, PageRequest } from '@fitness/shared/http/pagination.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import { holdsText, rarestGram } from '@fitness/shared/mongo/gram-shares.ts';
import { createListReader, type ListRow, readListPage } from '@fitness/shared/mongo/list-reader.ts';
import { asksForText } from '@fitness/shared/text-search.ts';
import { type Connection, type PipelineStage, type QueryFilter, trusted } from 'mongoose';
import { distanceM, neighbourhood, type Point } from '../domain/geohash.ts';
import type { Gym } from '../domain/gym.ts';
import type { GymCounters } from './gym-counters.ts';
import {
  countedOf,
  derivedOf,
  EVERYONE,
  GYM_PROJECTION,
  type GymDocument,
  gymModel,
  NOBODY,
  SEARCHED,
  toDocument,
  toGym,
} from './gym-document.ts';

/** Whom a list is for: `all` sees every gym, a user the active ones and his own, a guest the active ones. */
export type ListViewer = { kind: 'all' } | { kind: 'user'; userId: number } | { kind: 'guest' };

export interface GymQuery {
  viewer: ListViewer;
  search?: string | undefined;
  cityId?: number | undefined;
  /** Gyms that offer at least one of these. */
  majorIds?: readonly number[] | undefined;
  ownerId?: number | undefined;
}

/** The fields that a change may name. */
export type GymChanges = Partial<Omit<Gym, 'id' | 'version' | 'createdAt' | 'updatedAt'>>;

export interface GymStore {
  insert(session: ClientSession, gym: Gym): Promise<void>;
  find(id: number, session?: ClientSession): Promise<Gym | undefined>;
  findMany(ids: readonly number[]): Promise<Gym[]>;
  /**
   * Writes only the fields of `changes`, and what follows from them; `before` must have been read in the same
   * transaction. `quiet` leaves the version alone: nothing that an event tells of has changed.
   */
  change(
    session: ClientSession,
    before: Gym,
    changes: GymChanges,
    options: { now: Date; quiet?: boolean },
  ): Promise<Gym>;
  /** Adds to the rating of a gym in place. */
  addRating(
    session: ClientSession,
    id: number,
    add: { sum: number; count: number },
  ): Promise<Gym | undefined>;
  /** `gym` must have been read in the same transaction. */
  remove(session: ClientSession, gym: Gym): Promise<void>;
  countOwnedBy(userId: number): Promise<number>;
  findOwnedBy(session: ClientSession, userId: number): Promise<Gym[]>;
  /** Newest first. */
  list(query: GymQuery, page: PageRequest): Promise<PageOf<Gym>>;
  /** Nearest first; gyms without a location are not in it. The cursor is `[metres, id]`. */
  listNearest(query: GymQuery, from: Point, page: PageRequest): Promise<PageOf<Gym>>;
}

type Filter = QueryFilter<GymDocument>;

/** From the shortest cells (some 600 m high) to those of a subcontinent; what lies beyond is asked for as a whole. */
const CELL_LENGTHS = [6, 5, 4, 3, 2];
const AFTER_EVERY_GEOHASH = '~';
const SOMEWHERE = trusted({ $gte: '' });

/** The fields that the conditions of a list look at. */
const ASKED = ['visibleTo', 'ownerId', 'cityId', 'majorIds'] as const;

const anyOf = (values: readonly number[]) => {
  const [only] = values;
  return values.length === 1 && only !== undefined ? only : trusted({ $in: [...values] });
};

const visibleTo = (viewer: ListViewer) => {
  if (viewer.kind === 'all') return trusted({ $gte: NOBODY });
  return anyOf(viewer.kind === 'guest' ? [EVERYONE] : [EVERYONE, viewer.userId]);
};

/** The conditions of a list, its text left aside. The one that lets the fewest through, as a rule, comes first. */
const conditionsOf = ({ viewer, cityId, majorIds, ownerId }: GymQuery): Filter => ({
  ...(ownerId === undefined ? {} : { ownerId }),
  ...(cityId === undefined ? {} : { cityId }),
  ...(majorIds === undefined ? {} : { majorIds: anyOf(majorIds) }),
  visibleTo: visibleTo(viewer),
});

/**
 * Two stages, which MongoDB reads as one condition. The first is about one indexed field: a database whose planner uses
 * an index for nothing else still does not scan.
 */
const toStages = (conditions: Filter): PipelineStage.Match[] => {
  const [[field, first] = ['', undefined], ...others] = Object.entries(conditions);
  return [{ $match: { [field]: first } }, { $match: Object.fromEntries(others) }];
};

/** Whether a stored gym meets the conditions of a list, its text left aside. */
const accepts =
  ({ viewer, cityId, majorIds, ownerId }: GymQuery) =>
  (row: ListRow | GymDocument): boolean => {
    const gym = row as GymDocument;
    const isSeen =
      viewer.kind === 'all' ||
      gym.visibleTo === EVERYONE ||
      (viewer.kind === 'user' && gym.visibleTo === viewer.userId);
    return (
      isSeen &&
      (ownerId === undefined || gym.ownerId === ownerId) &&
      (cityId === undefined || gym.cityId === cityId) &&
      (majorIds === undefined || gym.majorIds.some((id) => majorIds.includes(id)))
    );
  };

/** Whether anything but the viewer is asked for, a text left aside. */
const isFiltered = ({ cityId, majorIds, ownerId }: GymQuery): boolean =>
  ownerId !== undefined || cityId !== undefined || majorIds !== undefined;

interface Placed extends Point {
  id: number;
  metres: number;
}

const byDistance = (a: Placed, b: Placed): number => a.metres - b.metres || b.id - a.id;

/** What the lists know beforehand of how many gyms there are. */
const createExtents = (connection: Connection, counters: GymCounters) => {
  const gyms = gymModel(connection);

  /** What a user sees besides the active gyms. */
  const ownHidden = async ({ viewer }: GymQuery): Promise<{ all: number; placed: number }> => {
    if (viewer.kind !== 'user') return { all: 0, placed: 0 };
    const found = await gyms
      .find({ visibleTo: viewer.userId }, { geohash: 1 })
      .lean<Pick<GymDocument, 'geohash'>[]>();
    return { all: found.length, placed: found.filter(({ geohash }) => geohash !== null).length };
  };

  const countFiltered = async (query: GymQuery): Promise<number> => {
    const [counted] = await gyms.aggregate<{ total: number }>([
      ...toStages(conditionsOf(query)),
      { $count: 'total' },
    ]);
    return counted?.total ?? 0;
  };

  return {
    /** How many gyms a list has, its text left aside, and the largest id. */
    ofList: async (query: GymQuery): Promise<{ total: number; newest: number }> => {
      const [{ active, all, newest }, own, filtered] = await Promise.all([
        counters.totals(),
        isFiltered(query) ? { all: 0 } : ownHidden(query),
        isFiltered(query) ? countFiltered(query) : undefined,
      ]);
      return { total: filtered ?? (query.viewer.kind === 'all' ? all : active + own.all), newest };
    },
    /** How many gyms with a place a viewer sees. */
    ofPlaced: async (query: GymQuery): Promise<number> => {
      const [{ activePlaced, allPlaced }, own] = await Promise.all([counters.totals(), ownHidden(query)]);
      return query.viewer.kind === 'all' ? allPlaced : activePlaced + own.placed;
    },
    newest: async (): Promise<number> => (await counters.totals()).newest,
  };
};

type Extents = ReturnType<typeof createExtents>;

/** Gyms with a place, by their distance. */
const createNearest = (connection: Connection, extents: Extents) => {
  const gyms = gymModel(connection);

  /** Where the gyms of a filter lie: three numbers each, so that sorting them needs no gym. */
  const place = async (filter: Filter, from: Point, search?: string): Promise<Placed[]> => {
    const texts = search === undefined ? [] : SEARCHED;
    const fields = ['lat', 'lng', ...texts];
    const found = await gyms.aggregate<{ _id: number; lat: number; lng: number }>([
      ...toStages(filter),
      { $project: Object.fromEntries(fields.map((field) => [field, 1])) },
    ]);
    return found
      .filter((row) => search === undefined || holdsText({ ...row }, texts, search))
      .map(({ _id, lat, lng }) => ({ id: _id, lat, lng, metres: distanceM(from, { lat, lng }) }));
  };

  const inCells = async (query: GymQuery, cells: readonly string[], from: Point): Promise<Placed[]> => {
    const perCell = await Promise.all(
      cells.map((cell) => {
        const geohash = trusted({ $gte: cell, $lt: `${cell}${AFTER_EVERY_GEOHASH}` });
        return place({ geohash, ...conditionsOf(query) }, from);
      }),
    );
    return perCell.flat();
  };

  /** All that a filter or a text finds. */
  const ofFilter = async (query: GymQuery, from: Point): Promise<Placed[]> => {
    const { search, ownerId } = query;
    if (!asksForText(search)) return place({ ...conditionsOf(query), geohash: SOMEWHERE }, from);
    const sample = { newest: await extents.newest(), size: 128 };
    const gram = await rarestGram(gyms.collection, search, SEARCHED, sample);
    const grams = gram === undefined ? {} : { grams: gram.text };
    const conditions = conditionsOf(query);
    // A text is rarer than a city, and an owner's gyms are rarer still.
    const filter = ownerId === undefined ? { ...grams, ...conditions } : { ...conditions, ...grams };
    return place({ ...filter, geohash: SOMEWHERE }, from, search);
  };

  return {
    /** The nearest `wanted` gyms behind `after`, one more if there is one, in order. All of them for a filter or a text. */
    find: async (
      query: GymQuery,
      from: Point,
      wanted: number,
      after: (gym: Placed) => boolean,
    ): Promise<{ ordered: Placed[]; isAll: boolean }> => {
      if (isFiltered(query) || asksForText(query.search)) {
        const found = await ofFilter(query, from);
        return { ordered: found.filter(after).toSorted(byDistance), isAll: true };
      }
      for (const length of CELL_LENGTHS) {
        const around = neighbourhood(from, length);
        if (around === undefined) break;
        const candidates = await inCells(query, around.cells, from);
        const certain = candidates.filter((gym) => gym.metres <= around.radiusM && after(gym));
        if (certain.length > wanted) return { ordered: certain.toSorted(byDistance), isAll: false };
      }
      const all = await place({ geohash: SOMEWHERE, ...conditionsOf(query) }, from);
      return { ordered: all.filter(after).toSorted(byDistance), isAll: true };
    },
  };
};

export const createGymStore = (connection: Connection, counters: GymCounters): GymStore => {
  const gyms = gymModel(connection);
  const reader = createListReader(gyms.collection, { texts: SEARCHED, accepted: ASKED });
  const extents = createExtents(connection, counters);
  const near = createNearest(connection, extents);
  const optional = (session?: ClientSession) => (session === undefined ? {} : { session });

  const read = async (filter: Filter, session?: ClientSession): Promise<Gym[]> => {
    const documents = await gyms.find(filter, GYM_PROJECTION, optional(session)).lean<GymDocument[]>();
    return documents.map(toGym);
  };

  const findMany = async (ids: readonly number[]): Promise<Gym[]> =>
    ids.length === 0 ? [] : read({ _id: trusted({ $in: [...ids] }) });

  const list = async (query: GymQuery, page: PageRequest): Promise<PageOf<Gym>> => {
    const extent = await extents.ofList(query);
    // One condition for the index; the others are looked at in what it finds.
    const [[field, condition] = []] = Object.entries(conditionsOf(query));
    const asked = {
      ...extent,
      condition: { [String(field)]: condition },
      accept: accepts(query),
      search: query.search,
    };
    const readGyms = async (slice: Parameters<typeof reader.read>[1]) => {
      const found = await reader.read(asked, slice);
      return { ...found, rows: (found.rows as unknown as GymDocument[]).map(toGym) };
    };
    return readListPage(readGyms, asked, 'DESC', page);
  };

  const listNearest: GymStore['listNearest'] = async (query, from, page) => {
    const [metres = -1, id = 0] = page.mode === 'cursor' ? page.after : [];
    const after = (gym: Placed): boolean => gym.metres > metres || (gym.metres === metres && gym.id < id);
    const skip = page.mode === 'page' ? page.skip : 0;
    const isNarrowed = isFiltered(query) || asksForText(query.search);
    if (skip > 0 && !isNarrowed) {
      const placed = await extents.ofPlaced(query);
      if (skip >= placed) return { rows: [], total: placed, next: undefined };
    }
    const { ordered, isAll } = await near.find(query, from, skip + page.perPage, after);
    const window = ordered.slice(skip, skip + page.perPage);
    const byId = new Map((await findMany(window.map((gym) => gym.id))).map((gym) => [gym.id, gym]));
    const rows = window.map((gym) => byId.get(gym.id)).filter((gym) => gym !== undefined);
    const last = window.at(-1);
    const more = ordered.length > skip + window.length;
    const total = async () => (isAll ? ordered.length : extents.ofPlaced(query));
    return {
      rows,
      total: page.mode === 'page' ? await total() : undefined,
      next: last && more ? [last.metres, last.id] : undefined,
    };
  };

  return {
    insert: async (session, gym) => {
      const document = toDocument(gym);
      await gyms.create([document], { session });
      counters.move(session, gym.id, undefined, document);
    },
    find: async (id, session) => (await read({ _id: id }, session))[0],
    findMany,
    change: async (session, before, changes, { now, quiet = false }) => {
      const version = quiet ? before.version : before.version + 1;
      const after: Gym = { ...before, ...changes, version, updatedAt: now };
      const set = { ...changes, ...derivedOf(after, Object.keys(changes)), version, updatedAt: now };
      await gyms.updateOne({ _id: before.id }, { $set: set }, { session });
      counters.move(session, before.id, countedOf(before), countedOf(after));
      return after;
    },
    addRating: async (session, id, { sum, count: ratings }) => {
      const after = await gyms
        .findOneAndUpdate(
          { _id: id },
          { $inc: { ratingSum: sum, ratingCount: ratings } },
          { session, returnDocument: 'after' },
        )
        .select(GYM_PROJECTION)
        .lean<GymDocument>();
      return after === null ? undefined : toGym(after);
    },
    remove: async (session, gym) => {
      await gyms.deleteOne({ _id: gym.id }, { session });
      counters.move(session, gym.id, countedOf(gym), undefined);
    },
    countOwnedBy: (userId) => gyms.countDocuments({ ownerId: userId }),
    findOwnedBy: (session, userId) => read({ ownerId: userId }, session),
    list,
    listNearest,
  };
};
