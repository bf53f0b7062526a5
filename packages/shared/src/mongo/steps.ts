/**
 * Work on more documents than one transaction may change is done in steps. MongoDB ends a transaction that takes longer than
 * `transactionLifetimeLimitSeconds`, and refuses one that does not fit its cache, at every attempt.
 */
import type { ClientSession, Model } from 'mongoose';
import { trusted } from './connect.ts';

/** The most documents that a transaction may change. */
export const CHANGES_MAX = 1_000;

/** Rows of one step. This leaves room for an event per row and for other writes of the transaction. */
export const STEP_MAX = 400;

/** Whether work is left: `more` when another step must follow. */
export type Rest = 'done' | 'more';

/** Changes at most `limit` rows in one transaction and returns how many; with fewer than `limit` nothing is left. */
export type Part = (limit: number) => Promise<number>;

/** Runs the parts one after the other until they have changed as many rows as one step may. */
export const oneStep = async (...parts: readonly Part[]): Promise<Rest> => {
  let left = STEP_MAX;
  for (const part of parts) {
    left -= await part(left);
    if (left <= 0) return 'more';
  }
  return 'done';
};

/** The ids of at most `limit` documents; `filter` is one condition that an index serves. */
const idsOf = async <Row>(
  session: ClientSession | undefined,
  model: Model<Row>,
  filter: object,
  limit: number,
): Promise<Row[]> => {
  const rows = await model
    .find(filter as never, { _id: 1 }, { limit, ...(session && { session }) })
    .lean<{ _id: never }[]>();
  return rows.map(({ _id }) => _id);
};

/** Deletes at most `limit` of the documents that match; a {@link Part}. */
export const deleteSome = async <Row>(
  session: ClientSession | undefined,
  model: Model<Row>,
  filter: object,
  limit: number,
): Promise<number> => {
  const ids = await idsOf(session, model, filter, limit);
  if (ids.length > 0) await model.deleteMany({ _id: trusted({ $in: ids }) } as never, session && { session });
  return ids.length;
};

/** Changes at most `limit` of the documents that match, so that they match no more; a {@link Part}. */
export const updateSome = async <Row>(
  session: ClientSession | undefined,
  model: Model<Row>,
  filter: object,
  change: object,
  limit: number,
): Promise<number> => {
  const ids = await idsOf(session, model, filter, limit);
  if (ids.length > 0)
    await model.updateMany({ _id: trusted({ $in: ids }) } as never, change as never, session && { session });
  return ids.length;
};

/**
 * Thrown inside a transaction that would change more rows than it may. `part` changes at most `limit` of them in a separate
 * transaction. Afterwards the first one can start again.
 */
export class TooManyRows extends Error {
  override name = 'TooManyRows';
  readonly part: (session: ClientSession, limit: number) => Promise<number>;

  constructor(part: (session: ClientSession, limit: number) => Promise<number>) {
    super('a transaction would change more rows than it may');
    this.part = part;
  }
}
