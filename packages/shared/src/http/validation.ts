/** zod issues → the 422 body of the specification, in the reader's language. */
import { z } from 'zod';
import { invalid, type Message, message } from '../error.ts';
import type { MessageKey } from '../i18n/catalogue.ts';

type Issue = z.core.$ZodIssue;

const TYPE_KEYS: Readonly<Record<string, MessageKey>> = {
  string: 'validation.type.string',
  number: 'validation.type.number',
  int: 'validation.type.integer',
  boolean: 'validation.type.boolean',
  array: 'validation.type.array',
  object: 'validation.type.object',
  record: 'validation.type.object',
  null: 'validation.type.null',
};

const FORMAT_KEYS: Readonly<Record<string, MessageKey>> = {
  email: 'validation.email',
  date: 'validation.date',
  datetime: 'validation.timestamp',
  safeint: 'validation.type.integer',
};

const sizeMessage = (issue: Extract<Issue, { code: 'too_small' | 'too_big' }>): Message => {
  const small = issue.code === 'too_small';
  const limit = Number(small ? issue.minimum : issue.maximum);
  if (issue.origin === 'string') {
    if (issue.exact === true) return message('validation.exact_length', { length: limit });
    return small
      ? message('validation.min_length', { min: limit })
      : message('validation.max_length', { max: limit });
  }
  if (issue.origin === 'array' || issue.origin === 'set') {
    return small
      ? message('validation.min_items', { min: limit })
      : message('validation.max_items', { max: limit });
  }
  return small
    ? message('validation.min_value', { min: limit })
    : message('validation.max_value', { max: limit });
};

const messageOf = (issue: Issue): Message => {
  switch (issue.code) {
    case 'invalid_type':
      if (issue.input === undefined) return message('validation.required');
      return message(TYPE_KEYS[issue.expected] ?? 'validation.type.other');
    case 'too_small':
    case 'too_big':
      return sizeMessage(issue);
    case 'invalid_format':
      return message(FORMAT_KEYS[issue.format] ?? 'validation.format');
    case 'invalid_value':
      if (issue.input === undefined) return message('validation.required');
      return message('validation.one_of', { values: issue.values.map(String).join(', ') });
    case 'custom': {
      const key: unknown = issue.params?.key;
      return message(
        typeof key === 'string' ? (key as MessageKey) : 'validation.invalid',
        issue.params?.values,
      );
    }
    default:
      return message(issue.input === undefined ? 'validation.required' : 'validation.invalid');
  }
};

/** For `.refine(…, says('validation.phone'))`: a refinement with a catalogue text. */
export const says = (key: MessageKey, values?: Record<string, string | number>) => ({
  params: { key, values },
});

/**
 * Text without half a surrogate pair, which JSON can say and UTF-8 cannot: it would be stored as another text than was
 * sent. `wellFormed(z.string().max(100))`.
 */
export const wellFormed = <Schema extends z.ZodType<string>>(schema: Schema): Schema =>
  schema.refine((value) => value.isWellFormed(), says('validation.format'));

/** Field name → messages; an issue with the whole input is under `root`. */
export const issuesToFields = (issues: readonly Issue[], root: string): Record<string, Message[]> => {
  // Without a prototype: the client may have chosen the names, `constructor` among them.
  const fields: Record<string, Message[]> = Object.create(null);
  for (const issue of issues) {
    const name = issue.path.length === 0 ? root : issue.path.map(String).join('.');
    fields[name] ??= [];
    fields[name].push(messageOf(issue));
  }
  return fields;
};

type Input = { schema: z.ZodType | undefined; value: unknown; root: string };

/** Parses all inputs and throws one 422 that names every wrong field of all of them. */
export const parseInputs = (inputs: readonly Input[]): unknown[] => {
  const fields: Record<string, Message[]> = Object.create(null);
  const outputs = inputs.map(({ schema, value, root }) => {
    if (schema === undefined) return undefined;
    const parsed = schema.safeParse(value, { reportInput: true });
    if (parsed.success) return parsed.data;
    Object.assign(fields, issuesToFields(parsed.error.issues, root));
    return undefined;
  });
  if (Object.keys(fields).length > 0) throw invalid(fields);
  return outputs;
};

/** As {@link parseInputs} for a single value, e.g. multipart fields. */
export const parseInput = <Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> =>
  parseInputs([{ schema, value, root: 'body' }])[0] as z.output<Schema>;

/** A schema that reads text, documented as what the text stands for. */
const documentedAs = <Schema extends z.ZodType>(schema: Schema, json: Record<string, unknown>): Schema => {
  schema._zod.toJSONSchema = () => ({ ...json });
  return schema;
};

const ID = { type: 'integer', minimum: 1 };
const isId = (text: string): boolean => /^[1-9]\d{0,15}$/.test(text) && Number.isSafeInteger(Number(text));

/** A path id: a positive integer that a double holds. Anything else in the path is 404. */
export const idParam = documentedAs(z.coerce.string().refine(isId).transform(Number), ID);

export const idParams = z.object({ id: idParam });

/** `true`/`false`/`1`/`0` in a query string. */
export const queryBoolean = z
  .enum(['true', 'false', '1', '0'])
  .transform((value) => value === 'true' || value === '1');

/** A positive integer in a query string. */
export const queryId = documentedAs(
  z.string().refine(isId, says('validation.type.integer')).transform(Number),
  ID,
);
