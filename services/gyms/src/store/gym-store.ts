/** Gyms in the database. Every question names the index that answers it, so that no planner may scan instead. */

import type { PageOf, PageRequest } from '@fitness/shared/http/pagination.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import { foldedSpellings, foldText, queryGrams } from '@fitness/shared/text-search.ts';
import { type Connection, type IndexDefinition, type QueryFilter, trusted } from 'mongoose';
import { distanceM, neighbourhood, type Point } from '../domain/geohash.ts';
import type { Gym } from '../domain/gym.ts';
import {
  derivedOf,
  EVERYONE,
  GYM_PROJECTION,
  type GymDocument,
  gymModel,
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
  remove(session: ClientSession, id: number): Promise<boolean>;
  countOwnedBy(userId: number): Promise<number>;
  findOwnedBy(session: ClientSession, userId: number): Promise<Gym[]>;
  /** Newest first. */
  list(query: GymQuery, page: PageRequest): Promise<PageOf<Gym>>;
  /** Nearest first; gyms without a location are not in it. The cursor is `[metres, id]`. */
  listNearest(query: GymQuery, from: Point, page: PageRequest): Promise<PageOf<Gym>>;
}

type Filter = QueryFilter<GymDocument>;
/** A filter with the index that serves it. */
interface Plan {
  filter: Filter;
  hint: Record<string, 1 | -1>;
}

const INDEX = {
  id: { _id: 1 },
  grams: { grams: 1 },
  owner: { ownerId: 1, _id: -1 },
  city: { cityId: 1, _id: -1 },
  majors: { majorIds: 1, _id: -1 },
  visible: { visibleTo: 1, _id: -1 },
  geohash: { geohash: 1 },
} as const satisfies Record<string, IndexDefinition>;

/** From the shortest cells (some 600 m high) to those of a subcontinent; what lies beyond is asked for as a whole. */
const CELL_LENGTHS = [6, 5, 4, 3, 2];
const AFTER_EVERY_GEOHASH = '~';

const searchFilter = (search: string): Filter => {
  const grams = queryGrams(search);
  const filter: Filter = { grams: trusted({ $all: grams }) };
  const spellings = foldedSpellings(search);
  // A query that is itself a gram is answered by the grams alone.
  if (spellings.length === 1 && grams.length === 1 && grams[0] === spellings[0]) return filter;
  const holds = spellings.map((text) => ({
    $gte: [{ $indexOfCP: ['$searchText', { $literal: text }] }, 0],
  }));
  return { ...filter, $expr: trusted({ $or: holds }) };
};

/** `says` is false for a search that folds to nothing: it asks for nothing in particular. */
const says = (search: string | undefined): search is string =>
  search !== undefined && foldText(search) !== '';

const planOf = (query: GymQuery): Plan => {
  const { viewer, search, cityId, majorIds, ownerId } = query;
  const filter: Filter = {};
  if (viewer.kind === 'guest') filter.visibleTo = EVERYONE;
  if (viewer.kind === 'user') filter.visibleTo = trusted({ $in: [EVERYONE, viewer.userId] });
  if (cityId !== undefined) filter.cityId = cityId;
  if (ownerId !== undefined) filter.ownerId = ownerId;
  if (majorIds !== undefined) filter.majorIds = trusted({ $in: [...majorIds] });
  if (says(search)) Object.assign(filter, searchFilter(search));
  return { filter, hint: servedBy(query) };
};

/** The index of the condition that lets the fewest through, as a rule. */
const servedBy = ({ viewer, search, cityId, majorIds, ownerId }: GymQuery): Plan['hint'] => {
  if (ownerId !== undefined) return INDEX.owner;
  if (says(search)) return INDEX.grams;
  if (cityId !== undefined) return INDEX.city;
  if (majorIds !== undefined) return INDEX.majors;
  return viewer.kind === 'all' ? INDEX.id : INDEX.visible;
};

const isNarrow = ({ search, cityId, majorIds, ownerId }: GymQuery): boolean =>
  ownerId !== undefined || cityId !== undefined || majorIds !== undefined || says(search);

interface Placed extends Point {
  id: number;
  metres: number;
}

const byDistance = (a: Placed, b: Placed): number => a.metres - b.metres || b.id - a.id;

export const createGymStore = (connection: Connection): GymStore => {
  const gyms = gymModel(connection);
  const optional = (session?: ClientSession) => (session === undefined ? {} : { session });

  const read = async (filter: Filter, session?: ClientSession): Promise<Gym[]> => {
    const documents = await gyms.find(filter, GYM_PROJECTION, optional(session)).lean<GymDocument[]>();
    return documents.map(toGym);
  };

  const count = ({ filter, hint }: Plan): Promise<number> => gyms.countDocuments(filter, { hint });

  const findMany = async (ids: readonly number[]): Promise<Gym[]> =>
    ids.length === 0 ? [] : read({ _id: trusted({ $in: [...ids] }) });

  const list = async (query: GymQuery, page: PageRequest): Promise<PageOf<Gym>> => {
    const plan = planOf(query);
    const find = (filter: Filter, skip: number, limit: number) =>
      gyms
        .find(filter, GYM_PROJECTION, { hint: plan.hint, sort: { _id: -1 }, skip, limit })
        .lean<GymDocument[]>();
    if (page.mode === 'page') {
      const total = await count(plan);
      const rows = page.skip >= total ? [] : (await find(plan.filter, page.skip, page.perPage)).map(toGym);
      const last = rows.at(-1);
      return { rows, total, next: last && page.skip + rows.length < total ? [last.id] : undefined };
    }
    const [after = 0] = page.after;
    const filter = { ...plan.filter, _id: trusted({ $lt: after }) };
    const found = (await find(filter, 0, page.perPage + 1)).map(toGym);
    const rows = found.slice(0, page.perPage);
    const last = rows.at(-1);
    return { rows, total: undefined, next: last && found.length > rows.length ? [last.id] : undefined };
  };

  /** Where the gyms of a filter lie: three numbers each, so that sorting them needs no gym. */
  const place = async ({ filter, hint }: Plan, from: Point): Promise<Placed[]> => {
    const found = await gyms
      .find(filter, { _id: 1, lat: 1, lng: 1 }, { hint })
      .lean<{ _id: number; lat: number; lng: number }[]>();
    return found.map(({ _id, lat, lng }) => ({
      id: _id,
      lat,
      lng,
      metres: distanceM(from, { lat, lng }),
    }));
  };

  const inCells = async (filter: Filter, cells: readonly string[], from: Point): Promise<Placed[]> => {
    const perCell = await Promise.all(
      cells.map((cell) => {
        const range = trusted({ $gte: cell, $lt: `${cell}${AFTER_EVERY_GEOHASH}` });
        return place({ filter: { ...filter, geohash: range }, hint: INDEX.geohash }, from);
      }),
    );
    return perCell.flat();
  };

  /** The nearest `wanted` gyms behind `after`, one more if there is one, in order. */
  const nearest = async (
    query: GymQuery,
    from: Point,
    wanted: number,
    after: (gym: Placed) => boolean,
  ): Promise<Placed[]> => {
    const { filter, hint } = planOf(query);
    const located = { ...filter, geohash: trusted({ $gte: '' }) };
    if (isNarrow(query))
      return (await place({ filter: located, hint }, from)).filter(after).toSorted(byDistance);
    for (const length of CELL_LENGTHS) {
      const around = neighbourhood(from, length);
      if (around === undefined) break;
      const candidates = await inCells(filter, around.cells, from);
      const certain = candidates.filter((gym) => gym.metres <= around.radiusM && after(gym));
      if (certain.length > wanted) return certain.toSorted(byDistance);
    }
    const all = await place({ filter: located, hint: INDEX.geohash }, from);
    return all.filter(after).toSorted(byDistance);
  };

  return {
    insert: async (session, gym) => {
      await gyms.create([toDocument(gym)], { session });
    },
    find: async (id, session) => (await read({ _id: id }, session))[0],
    findMany,
    change: async (session, before, changes, { now, quiet = false }) => {
      const version = quiet ? before.version : before.version + 1;
      const after: Gym = { ...before, ...changes, version, updatedAt: now };
      const set = { ...changes, ...derivedOf(after, Object.keys(changes)), version, updatedAt: now };
      await gyms.updateOne({ _id: before.id }, { $set: set }, { session });
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
    remove: async (session, id) => (await gyms.deleteOne({ _id: id }, { session })).deletedCount === 1,
    countOwnedBy: (userId) => gyms.countDocuments({ ownerId: userId }),
    findOwnedBy: (session, userId) => read({ ownerId: userId }, session),
    list,
    listNearest: async (query, from, page) => {
      const [metres = -1, id = 0] = page.mode === 'cursor' ? page.after : [];
      const after = (gym: Placed): boolean => gym.metres > metres || (gym.metres === metres && gym.id < id);
      const skip = page.mode === 'page' ? page.skip : 0;
      const ordered = await nearest(query, from, skip + page.perPage, after);
      const window = ordered.slice(skip, skip + page.perPage);
      const byId = new Map((await findMany(window.map((gym) => gym.id))).map((gym) => [gym.id, gym]));
      const rows = window.map((gym) => byId.get(gym.id)).filter((gym) => gym !== undefined);
      const last = window.at(-1);
      const more = ordered.length > skip + window.length;
      return {
        rows,
        total: page.mode === 'page' ? await countLocated(query) : undefined,
        next: last && more ? [last.metres, last.id] : undefined,
      };
    },
  };

  async function countLocated(query: GymQuery): Promise<number> {
    const { filter, hint } = planOf(query);
    const located = { ...filter, geohash: trusted({ $gte: '' }) };
    return count({ filter: located, hint: isNarrow(query) ? hint : INDEX.geohash });
  }
};
