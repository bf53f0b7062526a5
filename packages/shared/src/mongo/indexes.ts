/** Collections and indexes of mongoose models. */
import type { Connection } from 'mongoose';

type AnyModel = Pick<
  ReturnType<Connection['model']>,
  'collection' | 'createCollection' | 'createIndexes' | 'diffIndexes' | 'schema'
>;

/**
 * Creates the collections and indexes of every model of the connection. Await it before the first write: unique indexes
 * decide races. Unlike `syncIndexes` of mongoose it keeps indexes that no schema declares, so that a release can be rolled
 * back. An index with another definition is rebuilt. Rejects when stored data prevent an index.
 */
export const ensureIndexes = async (connection: Connection): Promise<void> => {
  for (const name of connection.modelNames()) await ensureModelIndexes(connection.model(name));
};

/** {@link ensureIndexes} for one model. */
export const ensureModelIndexes = async (model: AnyModel): Promise<void> => {
  await model.createCollection();
  try {
    await model.createIndexes();
  } catch (error) {
    if (!CHANGED_INDEX.has(Number((error as { code?: unknown }).code))) throw error;
    await dropChangedIndexes(model);
    await model.createIndexes();
  }
};

/** IndexOptionsConflict and IndexKeySpecsConflict: an index of that name has another definition. */
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
