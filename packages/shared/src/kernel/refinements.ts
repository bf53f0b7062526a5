/** Refinements of zod schemas with a catalogue message; http/validation.ts reads it for a 422. */
import type { z } from 'zod';
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

/** Replaces what OpenAPI shows of `schema`, e.g. for a text that is parsed into another type. */
export const documentedAs = <Schema extends z.ZodType>(
  schema: Schema,
  json: Record<string, unknown>,
): Schema => {
  schema._zod.toJSONSchema = () => ({ ...json });
  // What a refined schema inherits from the one before it would be looked up, and is not generated.
  delete schema._zod.parent;
  return schema;
};

/**
 * A field that accepts null alone, which clears what it names. It is shown as a nullable text: generators have no class for
 * a value that is always null.
 */
export const nullOnly = <Schema extends z.ZodType>(schema: Schema): Schema =>
  documentedAs(schema, { type: ['string', 'null'], not: { type: 'string' } });
