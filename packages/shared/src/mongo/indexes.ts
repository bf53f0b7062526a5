/** Collections and indexes of mongoose models. */
import type { Connection, IndexDefinition, IndexOptions } from 'mongoose';
import { type Notice, withNotice } from './notice.ts';

type Model = Connection['models'][string];
type AnyModel = Pick<Model, 'collection' | 'createCollection' | 'schema'>;
type Collection = Pick<Model['collection'], 'createIndex' | 'collectionName'>;

/** The name of an index. The default is that of the driver: the fields and their order. */
export const indexName = (fields: IndexDefinition, name: string | undefined): string =>
  name ?? Object.entries(fields).flat().join('_');

/**
 * Creates an index, and resolves when a majority of the members has built it. The server's default would wait without limit for
 * an absent member. No index is dropped, because another release may run at the same time and need it. Rejects when the name
 * belongs to another definition (docs/adr/0014). Indexing a large collection may take hours, so this is the only command without
 * a time limit. The log reports it, and the driver notices a server that is gone.
 */
export const createIndex = async (
  collection: Collection,
  fields: IndexDefinition,
  options: IndexOptions = {},
  notice?: Notice,
): Promise<void> => {
  const facts = { collection: collection.collectionName, index: indexName(fields, options.name) };
  const settings = { ...(options as object), commitQuorum: 'majority', socketTimeoutMS: 0 };
  try {
    await withNotice(
      notice,
      facts,
      'waiting for an index, until a majority of the members has built it',
      () => collection.createIndex(fields as never, settings as object),
    );
  } catch (error) {
    if (!CHANGED_INDEX.has(Number((error as { code?: unknown }).code))) throw error;
    const which = `The index ${facts.index} of ${facts.collection}`;
    throw new Error(`${which} is stored with another definition: a changed index needs another name`, {
      cause: error,
    });
  }
};

/** IndexOptionsConflict and IndexKeySpecsConflict. */
const CHANGED_INDEX = new Set([85, 86]);

/**
 * Creates the collections and indexes of every model of the connection. Await it before the first write: unique indexes
 * decide races. Unlike `syncIndexes` of mongoose, it only adds indexes. Rejects when stored data prevent an index.
 */
export const ensureIndexes = async (connection: Connection, notice?: Notice): Promise<void> => {
  for (const name of connection.modelNames()) await ensureModelIndexes(connection.model(name), notice);
};

/** {@link ensureIndexes} for one model. */
export const ensureModelIndexes = async (model: AnyModel, notice?: Notice): Promise<void> => {
  await model.createCollection();
  for (const [fields, options] of model.schema.indexes())
    await createIndex(model.collection, fields, options, notice);
};
