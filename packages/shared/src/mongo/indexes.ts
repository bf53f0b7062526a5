/** What stands in the database of a model's schema. */
import type { Connection } from 'mongoose';

type AnyModel = Pick<
  ReturnType<Connection['model']>,
  'collection' | 'createCollection' | 'createIndexes' | 'diffIndexes' | 'schema'
>;

/**
 * Makes the collection and the indexes of one model, and waits for them. Indexes that the model does not know are left
 * alone; one that a release has changed is made anew. Rejects when an index cannot be built over what is stored.
 */
export const prepareModel = async (model: AnyModel): Promise<void> => {
  await model.createCollection();
  try {
    await model.createIndexes();
  } catch (error) {
    if (!CHANGED_INDEX.has(Number((error as { code?: unknown }).code))) throw error;
    await dropChangedIndexes(model);
    await model.createIndexes();
  }
};

/** IndexOptionsConflict and IndexKeySpecsConflict of the server: its index of that name is another one. */
const CHANGED_INDEX = new Set([85, 86]);

const dropChangedIndexes = async (model: AnyModel): Promise<void> => {
  const wanted = new Set(
    model.schema.indexes().map(([fields, { name }]) => name ?? Object.entries(fields).flat().join('_')),
  );
  const { toDrop } = await model.diffIndexes();
  for (const name of toDrop.filter((existing: string) => wanted.has(existing))) {
    await model.collection.dropIndex(name);
  }
};
