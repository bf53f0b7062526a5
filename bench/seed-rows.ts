/** Inserts rows in bulk, in batches that fit into the benchmark's memory. */
import type { Database } from './product.ts';

/** The MongoDB stand-in never completes a write with some 300,000 index entries, and a document of a text has up to 64. */
const INSERTED_AT_ONCE = 250;

/** The numbers from `from` up to but excluding `to`, in batches. */
export const batches = (from: number, to: number, size = 1_000): number[][] =>
  Array.from({ length: Math.max(0, Math.ceil((to - from) / size)) }, (_, batch) => {
    const first = from + batch * size;
    return Array.from({ length: Math.min(size, to - first) }, (_, index) => first + index);
  });

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
  for (let start = 0; start < rows.length; start += INSERTED_AT_ONCE) {
    const some = rows.slice(start, start + INSERTED_AT_ONCE);
    await database.collection(collection).insertMany(some as never[], { ordered: false });
  }
};
