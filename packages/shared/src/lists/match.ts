/** Compares the texts of rows with a search. */
import {
  foldedSpellings,
  hasSearchTerms,
  queryGrams,
  type TextMatch,
  textMatcher,
} from '../kernel/text-search.ts';
import type { ListRow, RowSearch } from './list.ts';

/**
 * The folded spellings of each searched field, as long as the row is in memory. Excludes spellings that are much longer than their
 * texts, for which memory has no room (memory.ts).
 */
const folded = new WeakMap<ListRow, readonly (readonly string[])[]>();

/** Folded characters in memory per character of the text. */
export const FOLDED_PER_CHARACTER = 2;

const textOf = (row: ListRow, field: string): string => (row[field] as string | undefined) ?? '';

/** The number of characters that a row stores in its searched fields. */
export const textLength = (row: ListRow, fields: readonly string[]): number =>
  fields.reduce((sum, field) => sum + textOf(row, field).length, 0);

/** Undefined for a text that folds to ''. It is not folded. */
export const searchIn = (fields: readonly string[], text: string | undefined): RowSearch | undefined =>
  hasSearchTerms(text) ? { grams: queryGrams(text), match: rowMatcher(fields, text) } : undefined;

/** Searches the fields of a row, until one contains the text. */
const rowMatcher = (fields: readonly string[], search: string): ((row: ListRow) => TextMatch) => {
  const match = textMatcher(search);
  return (row) => {
    const spellings = folded.get(row) ?? fields.map((field) => foldedSpellings(textOf(row, field)));
    const length = spellings.flat().reduce((sum, spelling) => sum + spelling.length, 0);
    if (length <= FOLDED_PER_CHARACTER * textLength(row, fields)) folded.set(row, spellings);
    let characters = 0;
    for (const [index, field] of fields.entries()) {
      const result = match(textOf(row, field), spellings[index]);
      characters += result.characters;
      if (result.isMatch) return { isMatch: true, characters };
    }
    return { isMatch: false, characters };
  };
};
