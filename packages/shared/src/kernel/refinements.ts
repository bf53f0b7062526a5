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
