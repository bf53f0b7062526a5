/** Refinements of zod schemas with a catalogue message; http/validation.ts reads it for a 422. */
import { z } from 'zod';
import type { MessageKey, MessageParams } from './i18n/catalogue.ts';

/** A catalogue message for a refinement: `.refine(…, withMessage('validation.phone'))`. */
export const withMessage = (key: MessageKey, values?: MessageParams) => ({
  params: { key, values },
});

/**
 * Refuses lone surrogates, which JSON allows and UTF-8 cannot store: `wellFormed(z.string().max(100))`.
 */
export const wellFormed = <Schema extends z.ZodType<string>>(schema: Schema): Schema =>
  schema.refine((value) => value.isWellFormed(), withMessage('validation.format'));

const FORMAT_CHARACTERS = /\p{Cf}/gu;

/**
 * A typed or pasted text that is compared, not shown. Loses its format characters, such as the direction marks of a copied phone
 * number, and its outer white space.
 */
export const machineText = (text: string): string => text.replaceAll(FORMAT_CHARACTERS, '').trim();

/** A field with a {@link machineText}: it is judged without these characters. */
export const machineReadField = () => z.string().overwrite(machineText);

/** Characters that fonts draw. Excludes white space, marks, format characters, and characters that Unicode itself ignores. */
const VISIBLE =
  /[[\p{L}\p{N}\p{P}\p{S}]--[\p{Default_Ignorable_Code_Point}\u{2800}\u{13441}\u{13442}\u{1d159}\u{fffc}]]/v;
/** Direction overrides, which reorder the text after them, even outside the value. It then reads as another text. */
const OVERRIDES = '\\u202a-\\u202e\\u2066-\\u2069';
const NOT_IN_LINES = new RegExp(`[${OVERRIDES}]|(?![\\r\\n])\\p{Cc}`, 'u');
const NOT_IN_A_LINE = new RegExp(`[${OVERRIDES}\\u2028\\u2029]|\\p{Cc}`, 'u');

export const isVisible = (text: string): boolean => VISIBLE.test(text);

/**
 * Whether a text can be a name or a title: it has a visible character, and no control characters, line breaks or
 * direction overrides. Format characters inside are allowed: Persian needs ZWNJ, emoji need ZWJ.
 */
export const isOneLine = (text: string): boolean => isVisible(text) && !NOT_IN_A_LINE.test(text);

const ofVisibleText = <Schema extends z.ZodType<string>>(
  schema: Schema,
  isAllowed: (text: string) => boolean,
  description: string,
): Schema =>
  wellFormed(schema)
    .refine(isAllowed, withMessage('validation.one_line'))
    .meta({
      description: `${description} with a visible character, without control characters and direction overrides`,
    });

/** {@link isOneLine} for names, titles and similar texts: `oneLine('Title', z.string().trim().min(1).max(100))`. */
export const oneLine = <Schema extends z.ZodType<string>>(title: string, schema: Schema): Schema =>
  ofVisibleText(schema, isOneLine, `${title}: one line`);

/** {@link oneLine} for a text that may have several lines, such as an address. */
export const visibleLines = <Schema extends z.ZodType<string>>(title: string, schema: Schema): Schema =>
  ofVisibleText(schema, (text) => isVisible(text) && !NOT_IN_LINES.test(text), `${title}: one or more lines`);

/** Replaces what OpenAPI shows of `schema`, e.g. for a text that is parsed into another type. */
export const documentedAs = <Schema extends z.ZodType>(
  schema: Schema,
  json: Record<string, unknown>,
): Schema => {
  schema._zod.toJSONSchema = () => ({ ...json });
  // Otherwise the schema before the refinement would be looked up, which is not generated.
  delete schema._zod.parent;
  return schema;
};

/**
 * A field that accepts null alone, which clears what it names. It is shown as a nullable text: generators have no class for
 * a value that is always null.
 */
export const nullOnly = <Schema extends z.ZodType>(schema: Schema): Schema =>
  documentedAs(schema, { type: ['string', 'null'], not: { type: 'string' } });
