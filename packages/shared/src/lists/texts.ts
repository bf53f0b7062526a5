/**
 * The grams of the texts of rows. They are in a separate collection, and written in the transactions that write the texts
 * (docs/adr/0101). Only a search needs grams, which were half of the cost of reading a row. Finding a row by a gram costs a
 * tenth if a document has few grams.
 */
import type { ClientSession, Collection, Model } from 'mongoose';
import type { Progress } from '../kernel/progress.mjs';
import { sameWords } from '../kernel/same-words.ts';
import { documentGrams } from '../kernel/text-search.ts';
import { trusted } from '../mongo/connect.ts';
import { type erase, schemaOf } from '../mongo/privacy.ts';
import { deleteSome } from '../mongo/steps.ts';

/** Some of the grams of a row. */
export interface TextDocument {
  row: number;
  /** Runs of one to three characters of the folded texts. */
  grams: string[];
}

/** The schema of a collection of grams; `handle` is what an erasure does to them. */
export const textSchema = (collection: string, handle: typeof erase, reason: string) =>
  schemaOf<TextDocument>(
    { collection, versionKey: false },
    handle(reason, '_id', {
      row: { type: Number, required: true },
      grams: { type: [String], required: true },
    }),
  )
    .index({ grams: 1, row: -1 })
    .index({ row: 1 });

export type Transaction = <T>(work: (session: ClientSession) => Promise<T>) => Promise<T>;

export interface RowTexts {
  grams: Collection;
  /** Stores the grams of a new row with these fields. */
  add(session: ClientSession, id: number, row: object): Promise<void>;
  remove(session: ClientSession, ids: readonly number[]): Promise<void>;
  /** Removes at most `limit` documents of grams of rows that are going to be deleted; a `Part` of a step. */
  removeSome(session: ClientSession, ids: readonly number[], limit: number): Promise<number>;
  /**
   * Corrects the grams of every row, deletes the grams of missing rows, and returns how many rows had wrong ones. An older
   * release stored them in the rows. Reads both collections; the service may run meanwhile.
   */
  reindex(progress: Progress): Promise<number>;
}

export interface RowTextsOptions {
  /** Computes the grams of a row if they are not the grams of its fields. */
  gramsOf?: (row: Readonly<Record<string, unknown>>) => string[];
  /** Fields of rows in which an older release stored grams or texts. */
  older?: readonly string[];
  /** Indexes of the older release, which are dropped. */
  olderIndexes?: readonly string[];
  /** A number in each row that a correction increments, to conflict with a concurrent removal of the texts. */
  pin?: string;
}

const GRAMS_OF_A_DOCUMENT = 64;
/** Rows of one transaction; each may have 8,000 index entries. */
const BATCH = 10;
const INDEX_NOT_FOUND = 27;

export const toTextDocuments = (id: number, grams: readonly string[]): TextDocument[] =>
  Array.from({ length: Math.ceil(grams.length / GRAMS_OF_A_DOCUMENT) }, (_, part) => ({
    row: id,
    grams: grams.slice(part * GRAMS_OF_A_DOCUMENT, (part + 1) * GRAMS_OF_A_DOCUMENT),
  }));

/** `fields`: what the texts of a row are made of. */
export const createRowTexts = (
  texts: Model<TextDocument>,
  rows: Collection,
  fields: readonly string[],
  transaction: Transaction,
  {
    gramsOf = (row) => documentGrams(fields.map((field) => String(row[field] ?? ''))),
    older = ['grams'],
    olderIndexes = ['grams_1__id_-1'],
    pin,
  }: RowTextsOptions = {},
): RowTexts => {
  const grams = texts.collection;

  const insert = async (session: ClientSession, id: number, words: readonly string[]): Promise<void> => {
    const documents = toTextDocuments(id, words);
    if (documents.length > 0) await grams.insertMany(documents, { session });
  };

  const remove = async (session: ClientSession, ids: readonly number[]): Promise<void> => {
    await grams.deleteMany({ row: { $in: ids } }, { session });
  };

  /** A row that changes meanwhile may end up with more grams than its text has. A search compares the texts. */
  const correct = async (session: ClientSession, ids: readonly number[]): Promise<number> => {
    const projection = Object.fromEntries([...fields, ...older].map((field) => [field, 1]));
    const filter = { _id: { $in: ids } } as never;
    const currentRows = await rows.find(filter, { session, projection }).toArray();
    const stored = await grams.find<TextDocument>({ row: { $in: ids } }, { session }).toArray();
    const gramsByRow = Map.groupBy(stored, ({ row }) => row);
    let corrected = 0;
    for (const row of currentRows) {
      const id = Number(row._id);
      const fresh = gramsOf(row);
      const before = gramsByRow.get(id)?.flatMap((part) => part.grams) ?? [];
      gramsByRow.delete(id);
      const isWrong = !sameWords(before, fresh);
      if (isWrong) {
        await remove(session, [id]);
        await insert(session, id, fresh);
        corrected += 1;
      }
      const outdated = older.filter((field) => row[field] !== undefined);
      const change = {
        ...(outdated.length > 0 && { $unset: Object.fromEntries(outdated.map((field) => [field, ''])) }),
        ...(isWrong && pin !== undefined && { $inc: { [pin]: 1 } }),
      };
      if (Object.keys(change).length > 0)
        await rows.updateOne({ _id: row._id }, change as never, { session });
    }
    if (gramsByRow.size > 0) await remove(session, [...gramsByRow.keys()]);
    return corrected;
  };

  const allIds = async (): Promise<number[]> =>
    (await rows.find({}, { projection: { _id: 1 } }).toArray()).map(({ _id }) => Number(_id));

  const correctAll = async (ids: readonly number[], onBatch: (rows: number) => void): Promise<number> => {
    let corrected = 0;
    for (let start = 0; start < ids.length; start += BATCH) {
      const batch = ids.slice(start, start + BATCH);
      corrected += await transaction((session) => correct(session, batch));
      onBatch(batch.length);
    }
    return corrected;
  };

  return {
    grams,
    add: (session, id, row) => insert(session, id, gramsOf(row as Record<string, unknown>)),
    remove,
    removeSome: (session, ids, limit) =>
      deleteSome(session, texts, { row: trusted({ $in: [...ids] }) }, limit),
    reindex: async (progress) => {
      const ids = await allIds();
      const corrected = await correctAll(ids, (count) =>
        progress.advance(`words of ${rows.collectionName}`, count),
      );
      const indexed = await grams.aggregate<{ _id: number }>([{ $group: { _id: '$row' } }]).toArray();
      // A row that was created meanwhile is in `existing`. A row that was deleted meanwhile is not, and loses its grams.
      const existing = new Set(await allIds());
      await correctAll(
        indexed.map(({ _id }) => _id).filter((id) => !existing.has(id)),
        () => undefined,
      );
      for (const index of olderIndexes)
        await rows.dropIndex(index).catch((error: unknown) => {
          if ((error as { code?: unknown }).code !== INDEX_NOT_FOUND) throw error;
        });
      return corrected;
    },
  };
};
