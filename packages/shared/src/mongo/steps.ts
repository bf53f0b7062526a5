/**
 * Work on more documents than one transaction may change goes in steps. MongoDB ends a transaction that takes longer than
 * `transactionLifetimeLimitSeconds`, and refuses one that does not fit its cache, at every repetition.
 */
import type { ClientSession, Model } from 'mongoose';
import { trusted } from './connect.ts';

/** No transaction changes more documents. */
export const CHANGES_MAX = 1_000;

/** Rows of one step: there is room for an event of each row, and for what the transaction writes besides. */
export const STEP_MAX = 400;

/** What is left of the work: `more` when another step has to follow. */
export type Rest = 'done' | 'more';

/** Changes at most `limit` rows in one transaction and returns how many; with fewer than `limit` nothing is left. */
export type Part = (limit: number) => Promise<number>;

/** Does the parts one after the other, until they have changed as many rows together as one step may. */
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
  const found = await model
    .find(filter as never, { _id: 1 }, { limit, ...(session && { session }) })
    .lean<{ _id: never }[]>();
  return found.map(({ _id }) => _id);
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
 * Thrown inside a transaction that finds more rows than one may change. `part` changes at most `limit` of them in a
 * transaction of its own; afterwards the transaction can start again.
 */
export class TooManyRows extends Error {
  override name = 'TooManyRows';
  readonly part: (session: ClientSession, limit: number) => Promise<number>;

  constructor(part: (session: ClientSession, limit: number) => Promise<number>) {
    super('a transaction would change more rows than it may');
    this.part = part;
  }
}
