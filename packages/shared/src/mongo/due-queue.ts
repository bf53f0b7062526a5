/**
 * Due rows for one round of a job. Users take turns, so many rows of one user do not delay the others. First comes the row of
 * each user that has been due the longest, then the second ones. Users follow in the order of their ids, starting after the
 * last user of the previous round. This serves all users over several rounds, even if one round has no place for all.
 */
import type { Model } from 'mongoose';
import { trusted } from './connect.ts';

interface Queue {
  /** The stored field that says when a row is due; null: never. The last field of an index. */
  due: string;
  /** The stored field with the id of the user that a row belongs to. */
  user: string;
  /** A condition on fields that the index lacks. In a stage of its own, every query planner uses the index (ADR 101). */
  filter?: Record<string, unknown>;
}

/** At most `limit` rows that are due at `now` and match `match`. */
type Take<Row> = (now: Date, limit: number, match?: Record<string, unknown>) => Promise<Row[]>;

/** Takes the ids of rows. The end of the last round is kept in memory, separately for each process and queue. */
export const createDueIdQueue = <Document extends { _id: unknown }>(
  model: Model<Document>,
  { due, user, filter }: Queue,
): Take<Document['_id']> => {
  let lastUser = 0;
  return async (now, limit, match = {}) => {
    const users = await model.aggregate<{ _id: number; ids: Document['_id'][] }>([
      { $match: { ...match, [due]: { $lte: now } } },
      ...(filter === undefined ? [] : [{ $match: filter }]),
      { $sort: { [due]: 1 } },
      { $group: { _id: `$${user}`, ids: { $push: '$_id' } } },
      { $project: { ids: { $slice: ['$ids', limit] }, isServed: { $lte: ['$_id', lastUser] } } },
      { $sort: { isServed: 1, _id: 1 } },
      { $limit: limit },
    ]);
    lastUser = users.at(-1)?._id ?? lastUser;
    const turns = Math.max(0, ...users.map(({ ids }) => ids.length));
    return Array.from({ length: turns }, (_, turn) => users.flatMap(({ ids }) => ids.slice(turn, turn + 1)))
      .flat()
      .slice(0, limit);
  };
};

/** Takes the rows, converted by `fromDocument`. */
export const createDueRowQueue = <Document extends { _id: unknown }, Row>(
  model: Model<Document>,
  queue: Queue,
  fromDocument: (document: Document) => Row,
): Take<Row> => {
  const takeIds = createDueIdQueue(model, queue);
  return async (now, limit, match) => {
    const ids = await takeIds(now, limit, match);
    if (ids.length === 0) return [];
    const unordered = await model.find({ _id: trusted({ $in: ids }) } as object).lean<Document[]>();
    const documents = new Map(unordered.map((document) => [document._id, document]));
    return ids.flatMap((id) => documents.get(id) ?? []).map(fromDocument);
  };
};
