/** Collections and indexes of mongoose models. */
import type { Connection, IndexDefinition, IndexOptions } from 'mongoose';
import { type Notice, withNotice } from './notice.ts';

type Model = Connection['models'][string];
type AnyModel = Pick<Model, 'collection' | 'createCollection' | 'diffIndexes' | 'schema'>;
type Collection = Pick<Model['collection'], 'createIndex' | 'collectionName'>;

const nameOf = (fields: IndexDefinition, name: string | undefined): string =>
  name ?? Object.entries(fields).flat().join('_');

/**
 * Creates an index when a majority of the members has built it. By default the server waits for all of them, and so without
 * limit for one that is absent. The build of a large collection may take hours, so that this is the one command without a time
 * limit; the log tells of it, and the driver notices a server that is gone.
 */
export const createIndex = async (
  collection: Collection,
  fields: IndexDefinition,
  options: IndexOptions = {},
  notice?: Notice,
): Promise<void> => {
  const facts = { collection: collection.collectionName, index: nameOf(fields, options.name) };
  const settings = { ...(options as object), commitQuorum: 'majority', socketTimeoutMS: 0 };
  await withNotice(notice, facts, 'waiting for an index, until a majority of the members has built it', () =>
    collection.createIndex(fields as never, settings as object),
  );
};

/**
 * Creates the collections and indexes of every model of the connection. Await it before the first write: unique indexes
 * decide races. Unlike `syncIndexes` of mongoose it keeps indexes that no schema declares, so that a release can be rolled
 * back. An index with another definition is rebuilt. Rejects when stored data prevent an index.
 */
export const ensureIndexes = async (connection: Connection, notice?: Notice): Promise<void> => {
  for (const name of connection.modelNames()) await ensureModelIndexes(connection.model(name), notice);
};

/** {@link ensureIndexes} for one model. */
export const ensureModelIndexes = async (model: AnyModel, notice?: Notice): Promise<void> => {
  await model.createCollection();
  const create = async (): Promise<void> => {
    for (const [fields, options] of model.schema.indexes())
      await createIndex(model.collection, fields, options, notice);
  };
  try {
    await create();
  } catch (error) {
    if (!CHANGED_INDEX.has(Number((error as { code?: unknown }).code))) throw error;
    await dropChangedIndexes(model);
    await create();
  }
};

/** IndexOptionsConflict and IndexKeySpecsConflict: an index of that name has another definition. */
const CHANGED_INDEX = new Set([85, 86]);

const dropChangedIndexes = async (model: AnyModel): Promise<void> => {
  const wanted = new Set(model.schema.indexes().map(([fields, { name }]) => nameOf(fields, name)));
  const { toDrop } = await model.diffIndexes();
  for (const name of toDrop.filter((existing: string) => wanted.has(existing))) {
    await model.collection.dropIndex(name);
  }
};
