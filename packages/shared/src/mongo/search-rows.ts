/** Searches the texts of stored rows in portions. */
import { type TextMatch, textMatcher } from '../kernel/text-search.ts';

type Row = Readonly<Record<string, unknown>>;

/** The texts of the searched `fields` of a row. */
export const textsOf = (row: Row, fields: readonly string[]): string[] =>
  fields.map((field) => (row[field] as string | undefined) ?? '');

/** Searches the fields of a row for the query, until one contains it. */
export const rowMatcher = (fields: readonly string[], query: string): ((row: Row) => TextMatch) => {
  const match = textMatcher(query);
  return (row) => {
    let characters = 0;
    for (const text of textsOf(row, fields)) {
      const found = match(text);
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
