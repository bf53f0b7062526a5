/** The queries of lists. Each is one value of an index, with at most a range of the next field (docs/adr/0018). */
import type { Collection } from 'mongoose';
import { type Database, type ListRow, WINDOW_MAX, type Window } from './list.ts';

export interface ListCollections {
  rows: Collection;
  /** The index of `rows` is this field and the id. */
  field: string;
  /** See `texts.ts`. */
  grams: Collection;
  /** The condition of the rows that a change names together, where there are such changes. */
  conditionOfNames?: (names: readonly string[]) => Record<string, unknown>;
}

export const createDatabaseSource = ({ rows, field, grams, conditionOfNames }: ListCollections): Database => {
  const find = async (
    condition: Record<string, unknown>,
    projection: Readonly<Record<string, 0 | 1>>,
    window?: Window,
  ): Promise<ListRow[]> => {
    const ids = window && { _id: { $gte: window.from, $lt: window.to } };
    const cursor = rows.find({ ...condition, ...ids } as never, { projection, batchSize: 10_000 });
    // One that cannot have more rows is cheaper without.
    if (window !== undefined && window.to - window.from > WINDOW_MAX)
      cursor.sort({ _id: window.order === 'ASC' ? 1 : -1 }).limit(WINDOW_MAX);
    return (await cursor.toArray()) as unknown as ListRow[];
  };

  return {
    catchUp: async () => undefined,
    whole: async (keys, range) => {
      // The next field has an index for one key, not for several.
      const conditions =
        range === undefined
          ? [{ [field]: { $in: keys.map(({ key }) => key) } }]
          : keys.map(({ key }) => ({ [field]: key, ...range }));
      return (await Promise.all(conditions.map((condition) => find(condition, { grams: 0 })))).flat();
    },
    window: ({ key }, window) => find({ [field]: key }, { grams: 0 }, window),
    count: ({ key }, { from, to }) =>
      rows.countDocuments({ [field]: key, _id: { $gte: from, $lt: to } } as never),
    candidates: async (gram, { from, to }) => {
      const condition = { grams: gram, row: { $gte: from, $lt: to } };
      const found = await grams
        .find(condition, { projection: { _id: 0, row: 1 }, batchSize: 10_000 })
        .toArray();
      return found.map(({ row }) => ({ _id: Number(row) }));
    },
    few: (condition) => find(condition, { grams: 0 }),
    ids: async (key) => (await find({ [field]: key }, { _id: 1 })).map(({ _id }) => _id),
    named: async (names) =>
      names.length === 0 || conditionOfNames === undefined
        ? []
        : find(conditionOfNames(names), { [field]: 1 }),
    byIds: async (ids) => (ids.length === 0 ? [] : find({ _id: { $in: ids } }, { grams: 0 })),
  };
};
