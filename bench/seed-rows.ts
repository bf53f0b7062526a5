/** Inserts rows in bulk, in batches that fit into the benchmark's memory. */
import { connectMongo } from '@fitness/shared/mongo/connect.ts';
import { connectStack } from '../scripts/lib/stack-client.mjs';

export type Database = Awaited<ReturnType<typeof connectMongo>>;

const BATCH = 1_000;
/** The MongoDB stand-in never completes a write with some 300,000 index entries, and a text has hundreds. */
export const TEXTS_BATCH = 50;

const product = connectStack();

/** The database of a service; `suffix` for another one beside it. */
export const openDatabase = (service: string, suffix = ''): Promise<Database> => {
  const database = `${product.part(service).environment.MONGODB_DATABASE}${suffix}`;
  return connectMongo({ uri: product.describe().servers.MONGODB_URI, database });
};

const chunks = <Item>(items: readonly Item[], size: number): Item[][] =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, (index + 1) * size),
  );

/** The numbers from `from` up to but excluding `to`, in batches. */
export const batches = (from: number, to: number, size = BATCH): number[][] =>
  chunks(
    Array.from({ length: Math.max(0, to - from) }, (_, index) => from + index),
    size,
  );

/** The largest stored id, or 0. */
export const newestIn = async (database: Database, collection: string): Promise<number> => {
  const rows = database.collection<{ _id: number }>(collection);
  const [last] = await rows.find().sort({ _id: -1 }).limit(1).toArray();
  return last?._id ?? 0;
};

/** Lists end at the number of their sequence. */
export const raiseSequence = async (database: Database, name: string, value: number): Promise<void> => {
  const sequences = database.collection<{ _id: string; value: number }>('sequences');
  await sequences.updateOne({ _id: name }, { $max: { value } }, { upsert: true });
};

export const insertAll = async (
  database: Database,
  collection: string,
  rows: readonly object[],
): Promise<void> => {
  await database.collection(collection).insertMany(rows as never[], { ordered: false });
};

/** Inserts the texts of these rows. */
export const insertTexts = async <Row>(
  database: Database,
  collection: string,
  rows: readonly Row[],
  textsOf: (row: Row) => readonly object[],
): Promise<void> => {
  for (const some of chunks(rows, TEXTS_BATCH)) await insertAll(database, collection, some.flatMap(textsOf));
};
