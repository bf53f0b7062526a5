/** Fills collections, so that the plans of their queries can be judged. */
import type { Connection } from 'mongoose';

/** Minimum number of documents in a collection that a checked command reads. */
export const FILLED = 20_000;

/** Documents per insert command. */
const BATCH = 2_000;

/**
 * Fills `collection` with `count` copies of one of its documents. `change` returns at least the unique fields of each
 * copy; without an `_id` each gets an ObjectId.
 */
export const fillLike = async (
  connection: Connection,
  collection: string,
  change: (n: number) => Record<string, unknown>,
  /** Filter of the document to copy. */
  like: Record<string, unknown> = {},
  count = FILLED,
): Promise<void> => {
  const documents = connection.collection(collection);
  const stored = await documents.findOne(like);
  if (stored === null) throw new Error(`${collection} holds nothing to copy`);
  const { _id, ...fields } = stored;
  for (let first = 1; first <= count; first += BATCH) {
    const length = Math.min(BATCH, count - first + 1);
    const batch = Array.from({ length }, (_, index) => ({ ...fields, ...change(first + index) }));
    await documents.insertMany(batch, { ordered: false });
  }
};
