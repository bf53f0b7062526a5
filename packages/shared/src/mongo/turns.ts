/**
 * Due rows for one round of a job. Users take turns, so that the many rows of one delay no other user: first the row of each
 * user that is due the longest, then the second ones. Users follow in the order of their ids, after the one that the round
 * before has ended with, so that more users than a round has places for are served in rounds, too.
 */
import type { Model } from 'mongoose';
import { trusted } from './connect.ts';

interface Queue {
  /** The stored field that says when a row is due; null: never. The last field of an index. */
  due: string;
  /** The stored field with the id of the user that a row belongs to. */
  user: string;
}

/** At most `limit` rows that are due at `now` and match `match`. */
type Take<Row> = (now: Date, limit: number, match?: Record<string, unknown>) => Promise<Row[]>;

/** The ids of the rows. Where the last round has ended is kept in memory: one for each process and queue. */
export const createIdTurns = <Document extends { _id: unknown }>(
  model: Model<Document>,
  { due, user }: Queue,
): Take<Document['_id']> => {
  let lastUser = 0;
  return async (now, limit, match = {}) => {
    const users = await model.aggregate<{ _id: number; ids: Document['_id'][] }>([
      { $match: { ...match, [due]: { $lte: now } } },
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

/** The rows themselves, as `fromDocument` reads them. */
export const createTurns = <Document extends { _id: unknown }, Row>(
  model: Model<Document>,
  queue: Queue,
  fromDocument: (found: Document) => Row,
): Take<Row> => {
  const takeIds = createIdTurns(model, queue);
  return async (now, limit, match) => {
    const ids = await takeIds(now, limit, match);
    if (ids.length === 0) return [];
    const found = await model.find({ _id: trusted({ $in: ids }) } as object).lean<Document[]>();
    const documents = new Map(found.map((document) => [document._id, document]));
    return ids.flatMap((id) => documents.get(id) ?? []).map(fromDocument);
  };
};
