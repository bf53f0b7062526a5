/** The queries of lists. Each has equalities on the fields of one index, and at most a range of the next field (docs/adr/0101). */
import type { ClientSession, Collection } from 'mongoose';
import { commandLimit } from '../mongo/command-rules.ts';
import { inTransaction } from '../mongo/transaction.ts';
import {
  type Database,
  KEYS_MAX,
  type ListKey,
  type ListQuery,
  type ListRow,
  matchStages,
  type RowCondition,
  WINDOW_MAX,
  type Window,
} from './list.ts';

export interface ListCollections {
  rows: Collection;
  /** See `texts.ts`. */
  grams: Collection;
  /** Fields that no list shows. */
  hiddenFields?: readonly string[];
  /** Fields that only serve as keys. Reads by key omit them. */
  keysOnly?: readonly string[];
  /** The field by which a change can name several rows. */
  nameField?: string;
}

type Condition = Readonly<Record<string, unknown>>;

const BATCH_SIZE = 10_000;

/** The field of all keys; undefined if they have several. */
const onlyFieldOf = (keys: readonly ListKey[]): string | undefined => {
  const [field, ...others] = new Set(keys.flatMap(Object.keys));
  return others.length === 0 ? field : undefined;
};

export const createDatabaseSource = ({
  rows,
  grams,
  hiddenFields = [],
  keysOnly = [],
  nameField,
}: ListCollections): Database => {
  // An older release stored grams in the rows.
  const shown = Object.fromEntries(['grams', ...hiddenFields].map((field) => [field, 0]));
  const shownByKey = { ...shown, ...Object.fromEntries(keysOnly.map((field) => [field, 0])) };

  const find = async (
    condition: Condition,
    projection = shown,
    session?: ClientSession,
    limit = 0,
  ): Promise<ListRow[]> => {
    const options = {
      projection,
      limit,
      batchSize: BATCH_SIZE,
      ...commandLimit(),
      ...(session && { session }),
    };
    return (await rows.find(condition as never, options).toArray()) as unknown as ListRow[];
  };

  const findMeeting = async (
    key: ListKey,
    condition: RowCondition,
    session?: ClientSession,
  ): Promise<ListRow[]> => {
    const stages = [...matchStages(key, condition), { $project: shownByKey }];
    const options = { batchSize: BATCH_SIZE, ...commandLimit(), ...(session && { session }) };
    return rows.aggregate<ListRow>(stages, options).toArray();
  };

  const findWindow = async (key: ListKey, { from, to, order }: Window, session?: ClientSession) => {
    const condition = { ...key, _id: { $gte: from, $lt: to } } as never;
    // A window that cannot have more rows than the limit is cheaper without a sort and a limit.
    if (to - from <= WINDOW_MAX) return find(condition, shownByKey, session);
    const options = {
      projection: shownByKey,
      batchSize: BATCH_SIZE,
      ...commandLimit(),
      ...(session && { session }),
    };
    const cursor = rows.find(condition, options).sort({ _id: order === 'ASC' ? 1 : -1 });
    return (await cursor.limit(WINDOW_MAX).toArray()) as unknown as ListRow[];
  };

  /** Several keys are read in one snapshot. A row that moves between them meanwhile is in exactly one. */
  const atOneMoment = <Result>(
    { keys }: ListQuery,
    read: (session?: ClientSession) => Promise<Result>,
  ): Promise<Result> =>
    keys.length > 1 && keys.length <= KEYS_MAX ? inTransaction(rows.conn, read, { isEffect: false }) : read();

  const eachKey = <Result>(
    query: ListQuery,
    read: (key: ListKey, session?: ClientSession) => Promise<Result>,
  ): Promise<Result[]> =>
    atOneMoment(query, async (session) => {
      if (session === undefined) return Promise.all(query.keys.map((key) => read(key)));
      const results: Result[] = [];
      for (const key of query.keys) results.push(await read(key, session));
      return results;
    });

  return {
    catchUp: async () => undefined,
    whole: async (query) => {
      const { keys, condition } = query;
      if (condition !== undefined)
        return (await eachKey(query, (key, session) => findMeeting(key, condition, session))).flat();
      const field = onlyFieldOf(keys);
      if (field === undefined)
        return (await eachKey(query, (key, session) => find(key, shownByKey, session))).flat();
      const anyKey = { [field]: { $in: keys.map((key) => key[field]) } };
      return atOneMoment(query, (session) => find(anyKey, shownByKey, session));
    },
    windows: (query, window) => eachKey(query, (key, session) => findWindow(key, window, session)),
    count: async (query, { from, to }) => {
      const counts = await eachKey(query, (key, session) => {
        const condition = { ...key, _id: { $gte: from, $lt: to } } as never;
        return rows.countDocuments(condition, { ...commandLimit(), ...(session && { session }) });
      });
      return counts.reduce((sum, count) => sum + count, 0);
    },
    cachedCount: () => undefined,
    candidates: async (gram, { from, to }) => {
      const condition = { grams: gram, row: { $gte: from, $lt: to } };
      const options = { projection: { _id: 0, row: 1 }, batchSize: BATCH_SIZE, ...commandLimit() };
      const matches = await grams.find(condition, options).toArray();
      return matches.map(({ row }) => ({ _id: Number(row) }));
    },
    ranked: find,
    ids: async (key) => (await find(key, { _id: 1 })).map(({ _id }) => _id),
    named: async (names, limit) => {
      if (names.length === 0 || nameField === undefined) return [];
      const projection = Object.fromEntries(keysOnly.map((field) => [field, 1]));
      return find({ [nameField]: { $in: names } }, projection, undefined, Math.ceil(limit));
    },
    byIds: async (ids) => (ids.length === 0 ? [] : find({ _id: { $in: ids } })),
  };
};
