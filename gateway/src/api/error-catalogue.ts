/** The errors that clients may get, with their texts in every language. */
import type { Catalogue } from '@fitness/shared/kernel/i18n/catalogue.ts';
import { CATALOGUES, DEFAULT_LOCALE } from '@fitness/shared/kernel/i18n/translate.ts';
// Written by test/architecture/api-errors.test.ts from the code that throws the errors.
import codes from './error-codes.json' with { type: 'json' };

interface ErrorRow {
  status: number;
  /** Null: the answer contains the text alone. */
  code: string | null;
  /** By language. Parameters stand in braces. */
  texts: Readonly<Record<string, string>>;
}

/** A plural is shown in its general form. */
const textOf = (texts: Catalogue, key: string): string =>
  texts[key as keyof Catalogue] ?? texts[`${key}_other` as keyof Catalogue] ?? '';

const textsOf = (key: string): Record<string, string> =>
  Object.fromEntries([...CATALOGUES].map(([locale, texts]) => [locale, textOf(texts, key)]));

/** By status, then by code. */
export const ERROR_CATALOGUE: readonly ErrorRow[] = codes
  .map(({ code, status, key, isSent }) => ({ status, code: isSent ? code : null, texts: textsOf(key) }))
  .filter(
    (row, index, all) => all.findIndex((other) => JSON.stringify(other) === JSON.stringify(row)) === index,
  )
  .sort((a, b) => a.status - b.status);

/** The messages under `errors` of a 422, by language. */
export const FIELD_MESSAGES: readonly Readonly<Record<string, string>>[] = Object.keys(
  CATALOGUES.get(DEFAULT_LOCALE) ?? {},
)
  .filter((key) => key.startsWith('validation.') && !key.endsWith('_one'))
  .map(textsOf);

export const LANGUAGES = [...CATALOGUES.keys()];
