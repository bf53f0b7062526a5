/** Searches the texts of stored rows in portions. */
import { foldedSpellings, type TextMatch, textMatcher } from '../kernel/text-search.ts';

type Row = Readonly<Record<string, unknown>>;

/** The texts of the searched `fields` of a row. */
export const textsOf = (row: Row, fields: readonly string[]): string[] =>
  fields.map((field) => (row[field] as string | undefined) ?? '');

/** The folded spellings of the searched fields of rows that stay in memory. */
export type FoldedRows = WeakMap<Row, readonly (readonly string[])[]>;

const foldedOf = (row: Row, texts: readonly string[], rows: FoldedRows): readonly (readonly string[])[] => {
  const folded = rows.get(row) ?? texts.map(foldedSpellings);
  rows.set(row, folded);
  return folded;
};

/** Searches the fields of a row for the query, until one contains it. */
export const rowMatcher = (
  fields: readonly string[],
  query: string,
  rows?: FoldedRows,
): ((row: Row) => TextMatch) => {
  const match = textMatcher(query);
  return (row) => {
    const texts = textsOf(row, fields);
    const folded = rows && foldedOf(row, texts, rows);
    let characters = 0;
    for (const [index, text] of texts.entries()) {
      const found = match(text, folded?.[index]);
      characters += found.characters;
      if (found.isMatch) return { isMatch: true, characters };
    }
    return { isMatch: false, characters };
  };
};

/** Characters that are searched before a pause for other work ({@link yieldToEventLoop}). */
export const PORTION_CHARACTERS = 100_000;

/** Lets other work of the process run: a search of long texts takes seconds of CPU time. */
export const yieldToEventLoop = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });

/** The number of characters that a row stores in its searched fields. */
export const textLength = (row: Row, fields: readonly string[]): number =>
  textsOf(row, fields).reduce((sum, text) => sum + text.length, 0);
