// STOP: do not use this file; see NOTICE-READ-ME.md in the root of the worktree.
/**
 * Changes of one document that meets conditions. The conditions stand in the change, so that the document is found by its
 * id alone: a server that does not look at the rest of what an index finds would scan the collection (docs/adr/0018).
 */
import type { ClientSession } from 'mongoose';

/** A field is equal to the value, or compares to it; null is also a field that is not there. */
export type Conditions = Readonly<Record<string, unknown>>;

/** A collection of the driver's, whatever its documents are. */
interface Updatable {
  updateOne(
    filter: never,
    update: never,
    options: { session?: ClientSession },
  ): Promise<{ modifiedCount: number }>;
}

export interface Change {
  set?: Readonly<Record<string, unknown>>;
  inc?: Readonly<Record<string, number>>;
  max?: Readonly<Record<string, number>>;
}

/**
 * Whether the document was there, met the conditions and is changed now, in one atomic step. The change must be one: a
 * document that is left as it was counts as not changed.
 */
export const updateWhere = async <Id>(
  collection: Updatable,
  _id: Id,
  conditions: Conditions,
  { set = {}, inc = {}, max = {} }: Change,
  session?: ClientSession,
): Promise<boolean> => {
  const isMet = { $and: Object.entries(conditions).map(([field, wanted]) => conditionOf(field, wanted)) };
  const values = {
    ...mapped(set, (_field, value) => ({ $literal: value })),
    ...mapped(inc, (field, by) => ({ $add: [{ $ifNull: [`$${field}`, 0] }, by] })),
    ...mapped(max, (field, value) => ({ $max: [`$${field}`, value] })),
  };
  const change = mapped(values, (field, value) => ({ $cond: [isMet, value, `$${field}`] }));
  const { modifiedCount } = await collection.updateOne(
    { _id } as never,
    [{ $set: change }] as never,
    session === undefined ? {} : { session },
  );
  return modifiedCount === 1;
};

const mapped = <Value>(
  fields: Readonly<Record<string, Value>>,
  map: (field: string, value: Value) => unknown,
): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).map(([field, value]) => [field, map(field, value)]));

const COMPARISONS = ['$lt', '$lte', '$gt', '$gte', '$in'] as const;

const conditionOf = (field: string, wanted: unknown): unknown => {
  const compared = COMPARISONS.filter(
    (name) => typeof wanted === 'object' && wanted !== null && Object.hasOwn(wanted, name),
  );
  if (compared.length === 0) return { $eq: [{ $ifNull: [`$${field}`, null] }, { $literal: wanted }] };
  const comparisons = compared.map((name) => ({
    [name]: [`$${field}`, { $literal: (wanted as Record<string, unknown>)[name] }],
  }));
  // A query never finds nothing to be less than something; an expression does.
  return { $and: [{ $ne: [{ $ifNull: [`$${field}`, null] }, null] }, ...comparisons] };
};
