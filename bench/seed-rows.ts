/** Inserts rows in bulk, in batches that fit into the benchmark's memory. */
import { connectMongo } from '@fitness/shared/mongo/connect.ts';
import { connectStack } from '../scripts/lib/stack-client.mjs';

export type Database = Awaited<ReturnType<typeof connectMongo>>;

/** Called with the number of documents in each written batch. */
export type OnWritten = (count: number) => void;

const BATCH = 1_000;

const product = connectStack();

export const databaseOf = (service: string): string =>
  product.part(service).environment.MONGODB_DATABASE ?? '';

export const openDatabase = (database: string): Promise<Database> =>
  connectMongo({ uri: product.describe().servers.MONGODB_URI, database });

/** The numbers from `from` up to but excluding `to`, in batches. */
export const batches = (from: number, to: number): number[][] => {
  const ids = Array.from({ length: Math.max(0, to - from) }, (_, index) => from + index);
  return Array.from({ length: Math.ceil(ids.length / BATCH) }, (_, index) =>
    ids.slice(index * BATCH, (index + 1) * BATCH),
  );
};

export const insertAll = async (
  database: Database,
  collection: string,
  rows: readonly object[],
): Promise<void> => {
  await database.collection(collection).insertMany(rows as never[], { ordered: false });
};
