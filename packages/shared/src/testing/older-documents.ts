/** Documents of a release that did not have every field of today. */
import type { Collection, Schema } from 'mongoose';

interface Stored {
  collection: Pick<Collection, 'updateMany'>;
  schema: Pick<Schema, 'paths'>;
}

/** Removes every field but `always`, which each release stored, from all documents of a model. */
export const removeNewerFields = async (
  { collection, schema }: Stored,
  always: readonly string[],
): Promise<void> => {
  const newer = Object.keys(schema.paths).filter((path) => path !== '_id' && !always.includes(path));
  await collection.updateMany({}, { $unset: Object.fromEntries(newer.map((path) => [path, ''])) });
};
