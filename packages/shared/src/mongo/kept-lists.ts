/**
 * The lists of one collection, from what a process keeps of them (the ids of its lists, rows, and candidates of searches,
 * docs/adr/0101) or, where they are not kept, by the plans of `list-reader.ts`. Every transaction that changes a row, but for its grams, writes the change into a counter document
 * (`list-versions.ts`); a reader first reads the versions and passes them here, so that it sees every confirmed change of every process.
 */
import type { Collection } from 'mongoose';
import type { PageOf, PageRequest } from '../kernel/page.ts';
import { EVERY_SEARCH, hasSearchTerms } from '../kernel/text-search.ts';
import { createKeptCandidates } from './kept-candidates.ts';
import { createKeptRows, LIFETIME_MS } from './kept-rows.ts';
import { createListPositions, type FacetedRow, type Lists } from './list-positions.ts';
import {
  createListReader,
  type Listed,
  type ListQuery,
  type ListRow,
  type RankedId,
  readRankedPage,
  type Slice,
} from './list-reader.ts';
import type { ChangedRow, ListChanges, ListVersions } from './list-versions.ts';
import { rowMatcher } from './search-rows.ts';

/** The fields that give a row a place before the others for some time. */
interface Ranking {
  /** Until then; a date. */
  until: string;
  /** At least 1; a larger one comes first. */
  rank: string;
}

interface KeptListsOptions<Row> {
  /** The fields that a search reads. */
  texts: readonly string[];
  /** The fields that `ListQuery.accept` reads. */
  accepted: readonly string[];
  /** The condition of the rows of a list, which one index covers. */
  conditionOf(facet: string): Record<string, unknown>;
  /** The lists that a row is in, of those that are asked for. */
  facetsOf(row: ListRow): readonly string[];
  /** The fields that `facetsOf` reads. */
  faceted: readonly string[];
  /** What changed in the counter documents `since` these versions. */
  changesSince(since: ListVersions): Promise<ListChanges>;
  /** The condition of the rows that changes named together. */
  conditionOfNames?: (names: readonly string[]) => Record<string, unknown>;
  /** Called once for a row that stays in memory: nobody may change the result. */
  toRow(stored: ListRow): Row;
  /** An index covers `until`. Rows that have a rank are few. */
  ranking?: Ranking;
}

interface RankedList extends Pick<ListQuery, 'total' | 'search'> {
  versions: ListVersions;
  now: Date;
  /** Whether a row is in the list, not considering `search`. */
  accept(row: ListRow): boolean;
  /** Reads the rows without a rank. `ranked`: the others of the list. */
  readRest(slice: Slice, ranked: readonly number[], isRanked: (row: ListRow) => boolean): Promise<Listed>;
}

interface KeptListQuery extends ListQuery {
  /** The lists that the query asks for together; undefined where a list is a part of these only. */
  lists?: Lists | undefined;
}

export interface KeptLists<Row extends { id: number }> {
  /** Before anything that is kept is used. */
  catchUp(versions: ListVersions): Promise<void>;
  /** `without`: ids of the lists that the page leaves out; `accept` refuses them, too. */
  read(query: KeptListQuery, slice: Slice, without?: readonly number[]): Promise<Listed>;
  /** How many rows a short list has. */
  count(facet: string, versions: ListVersions): Promise<number>;
  /** A page that begins with the rows that have a rank. */
  rankedPage(list: RankedList, request: PageRequest): Promise<PageOf<Row>>;
  toRow(stored: ListRow): Row;
}

/** The name of the list of all rows that have a rank; no other list has it. */
const RANKED = 'ranked';
/** Of a row that an older release stored. */
const LEAST_RANK = 1;

export const createKeptLists = <Row extends { id: number }>(
  collection: Collection,
  options: KeptListsOptions<Row>,
): KeptLists<Row> => {
  const { texts, accepted, conditionOf, facetsOf, faceted, changesSince, conditionOfNames, ranking } =
    options;
  /** Of the last request: a row leaves the list of those with a rank as time passes, without a change. */
  let lastNow = new Date(0);

  const isRanked = (row: ListRow, now: Date): boolean => {
    const until = ranking && row[ranking.until];
    return until instanceof Date && until > now;
  };

  const find = async (condition: Record<string, unknown>, fields: readonly string[]): Promise<ListRow[]> => {
    const projection = Object.fromEntries(['_id', ...fields].map((field) => [field, 1]));
    const found = collection.find(condition as never, { projection, batchSize: 10_000 });
    return (await found.toArray()) as unknown as ListRow[];
  };

  const readRows = async (condition: Record<string, unknown>, limit?: number): Promise<ListRow[]> => {
    const options = limit === undefined ? {} : { limit, batchSize: limit };
    const found = collection.find(condition as never, { projection: { grams: 0 }, ...options });
    return (await found.toArray()) as unknown as ListRow[];
  };

  const rows = createKeptRows((ids) => readRows({ _id: { $in: ids } }), texts);

  // One condition: a row that moves between the two would be missed by two reads.
  const candidatesOf = (gram: string) => ({ grams: { $in: [gram, EVERY_SEARCH] } });
  const candidates = createKeptCandidates({
    ids: async (gram, limit) => {
      const found = collection.find(candidatesOf(gram), {
        projection: { _id: 1 },
        batchSize: limit,
        limit,
      });
      return (await found.toArray()).map(({ _id }) => Number(_id));
    },
    rows: (gram, limit) => readRows(candidatesOf(gram), limit),
    keep: rows.keep,
  });

  /** The lists of these rows now. */
  const facetsNow = async (changed: readonly ChangedRow[]): Promise<FacetedRow[]> => {
    const fields = ranking === undefined ? faceted : [...faceted, ranking.until];
    const ids = changed.filter((one) => typeof one === 'number');
    const names = changed.filter((one) => typeof one === 'string');
    const [single, named] = await Promise.all([
      ids.length === 0 ? [] : find({ _id: { $in: ids } }, fields),
      names.length === 0 || conditionOfNames === undefined ? [] : find(conditionOfNames(names), fields),
    ]);
    const now = new Map(ids.map((id): [number, FacetedRow] => [id, { id, facets: [] }]));
    for (const row of [...single, ...named]) {
      const ranked = isRanked(row, lastNow) ? [RANKED] : [];
      now.set(row._id, { id: row._id, facets: [...facetsOf(row), ...ranked] });
    }
    return [...now.values()];
  };

  const positions = createListPositions({
    ids: async (facet) => {
      const condition =
        ranking !== undefined && facet === RANKED
          ? { [ranking.until]: { $gt: lastNow } }
          : conditionOf(facet);
      return (await find(condition, [])).map(({ _id }) => _id);
    },
    changes: async (since) => {
      const { versions, changed } = await changesSince(since);
      return { versions, rows: changed && (await facetsNow(changed)) };
    },
    forget: (ids) => {
      rows.forget(ids);
      candidates.changed(ids);
    },
  });

  const converted = new WeakMap<ListRow, Row>();
  const toRow = (stored: ListRow): Row => {
    const row = converted.get(stored) ?? options.toRow(stored);
    converted.set(stored, row);
    return row;
  };

  /** In the order of `ids`; unknown ones are missing. */
  const findMany = async (ids: readonly number[]): Promise<ListRow[]> => {
    const byId = new Map((await rows.find(ids)).map((row) => [row._id, row]));
    return ids.flatMap((id) => byId.get(id) ?? []);
  };

  const reader = createListReader(collection, {
    ...{ texts, accepted },
    memory: { findByIds: rows.find, candidates: candidates.find },
  });

  /** Undefined where the ids of the lists are not in memory. */
  const readByPosition = async (
    lists: Lists,
    slice: Slice,
    without?: readonly number[],
  ): Promise<Listed | undefined> => {
    const ids = await positions.find(lists, { ...slice, without });
    if (ids === undefined) return undefined;
    // A row that has just left the list is not shown.
    const listed = (await findMany(ids.slice(0, slice.take))).filter((row) => {
      const facets = facetsOf(row);
      return lists.facets.some((facet) => facets.includes(facet));
    });
    return { rows: listed, more: ids.length > slice.take, total: undefined };
  };

  return {
    catchUp: positions.catchUp,
    read: async ({ lists, ...query }, slice, without) => {
      const byPosition =
        lists === undefined || hasSearchTerms(query.search)
          ? undefined
          : await readByPosition(lists, slice, without);
      return byPosition ?? reader.read(query, slice);
    },
    toRow,
    // Read again from time to time: nothing contradicts it where a process of an older release writes no versions.
    count: async (facet, versions) => (await positions.all(facet, versions, LIFETIME_MS)).length,
    rankedPage: async (list, request) => {
      const { versions, now, accept, readRest, total, search } = list;
      lastNow = now;
      // Read again from time to time, so that rows without a rank do not stay.
      const mayHaveRank = await rows.find(await positions.all(RANKED, versions, LIFETIME_MS));
      const match = hasSearchTerms(search) ? rowMatcher(texts, search) : undefined;
      const ranked: RankedId[] = mayHaveRank
        .filter((row) => isRanked(row, now) && accept(row) && (match === undefined || match(row).isMatch))
        .map((row) => ({ id: row._id, rank: Number(row[ranking?.rank ?? ''] ?? LEAST_RANK) }));
      const rankedIds = ranked.map(({ id }) => id);
      return readRankedPage(
        {
          ranked,
          findMany: async (ids) => (await findMany(ids)).map(toRow),
          readRest: async (slice) => {
            const rest = await readRest(slice, rankedIds, (row) => isRanked(row, now));
            return { ...rest, rows: rest.rows.map(toRow) };
          },
          total,
          search,
        },
        request,
      );
    },
  };
};
