/** The errors that clients may receive, with their messages in every language. */
import { CATALOGUES, type Catalogue } from '@fitness/shared/kernel/i18n/catalogue.ts';
import { DEFAULT_LOCALE } from '@fitness/shared/kernel/i18n/translate.ts';
// test/architecture/api-errors.test.ts writes this file from the code that throws the errors, and from the routes.
import errors from './error-codes.json' with { type: 'json' };
import errorTexts from './error-texts.json' with { type: 'json' };

/** Texts by language. */
type Texts = Readonly<Record<string, string>>;

export interface ErrorRow {
  status: number;
  /** Null if the response contains only the text. */
  code: string | null;
  /** Parameters are in braces. */
  texts: Texts;
  /** When the error occurs, in English. */
  cause: string;
  /** What the client should do, in English. */
  remedy: string;
  /** Operations that declare the code, e.g. `POST /payments/boost`. Empty for an error of any operation. */
  operations: readonly string[];
}

/** A plural is shown in its general form. */
const textOf = (texts: Catalogue, key: string): string | undefined =>
  texts[key as keyof Catalogue] ?? texts[`${key}_other` as keyof Catalogue];

const textsOf = (key: string): Texts =>
  Object.fromEntries([...CATALOGUES].map(([locale, texts]) => [locale, textOf(texts, key) ?? '']));

/** The keys are those of the messages. A remedy may have a status as its key. */
const causes: Readonly<Record<string, string>> = errorTexts.causes;
const remedies: Readonly<Record<string, string>> = errorTexts.remedies;

/** All errors, ordered by status. */
export const ERROR_CATALOGUE: readonly ErrorRow[] = errors.codes
  .map(({ code, status, key, isSent, operations }) => ({
    status,
    code: isSent ? code : null,
    texts: textsOf(key),
    cause: causes[key] ?? '',
    remedy: remedies[key] ?? remedies[status] ?? '',
    operations,
  }))
  .filter(
    (row, index, all) => all.findIndex((other) => JSON.stringify(other) === JSON.stringify(row)) === index,
  )
  .sort((a, b) => a.status - b.status);

/** The error with this code and status. Undefined for a code that clients never receive. */
export const errorRow = (code: string, status: number): ErrorRow | undefined =>
  ERROR_CATALOGUE.find((row) => row.code === code && row.status === status);

/** The statuses of errors with their text in `error`, by operation. */
export const ERROR_BODIES: Readonly<Record<string, readonly number[]>> = errors.bodies;

const isFieldMessage = (key: string): boolean =>
  key === 'idempotency.other_body' || (key.startsWith('validation.') && !key.endsWith('_one'));

/** The messages under `errors` of a 422, by language. */
export const FIELD_MESSAGES: readonly Texts[] = Object.keys(CATALOGUES.get(DEFAULT_LOCALE) ?? {})
  .filter(isFieldMessage)
  .map((key) => textsOf(key));

export const LANGUAGES = [...CATALOGUES.keys()];
