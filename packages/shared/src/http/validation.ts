/** zod issues → the fields of a 422, as catalogue messages. */
import { z } from 'zod';
import { invalid, type Message, message } from '../kernel/error.ts';
import type { MessageKey } from '../kernel/i18n/catalogue.ts';
import { documentedAs, withMessage } from '../kernel/refinements.ts';
import type { FieldProblems } from './define-route.ts';

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
    if (issue.input === '') return message('validation.required');
    if (issue.exact === true) return message('validation.exact_length', { count: limit });
    return small
      ? message('validation.min_length', { count: limit })
      : message('validation.max_length', { count: limit });
  }
  if (issue.origin === 'array' || issue.origin === 'set') {
    return small
      ? message('validation.min_items', { count: limit })
      : message('validation.max_items', { count: limit });
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

/** Field name → messages; an issue with the whole input gets the name `root`. */
const issuesToFields = (issues: readonly Issue[], root: string): Record<string, Message[]> => {
  // The object has no prototype, because a client may choose names such as `constructor`.
  const fields: Record<string, Message[]> = Object.create(null);
  for (const issue of issues) {
    const name = issue.path.length === 0 ? root : issue.path.map(String).join('.');
    fields[name] ??= [];
    fields[name].push(messageOf(issue));
  }
  return fields;
};

/** Query parameters without empty values, which are treated as absent. */
export const withoutEmpty = (parameters: object): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(parameters).flatMap(([name, value]): [string, unknown][] => {
      if (!Array.isArray(value)) return value === '' ? [] : [[name, value]];
      const elements = value.filter((one) => one !== '');
      return elements.length === 0 ? [] : [[name, elements.length === 1 ? elements[0] : elements]];
    }),
  );

/** The fields of an object that are valid, each by itself. Omitted fields are left out. */
export const validFields = (schema: z.ZodObject, value: unknown): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(schema.shape).flatMap(([name, field]) => {
      const isSent = typeof value === 'object' && value !== null && Object.hasOwn(value, name);
      const parsed = isSent ? field.safeParse((value as Record<string, unknown>)[name]) : undefined;
      return parsed?.success === true ? [[name, parsed.data]] : [];
    }),
  );

type Input = { schema: z.ZodType | undefined; value: unknown; root: string };

/** Parses all inputs; throws one 422 with every invalid field. `problems`: fields that are invalid for another reason. */
export const parseInputs = (inputs: readonly Input[], problems: FieldProblems = {}): unknown[] => {
  const fields: Record<string, Message[]> = Object.create(null);
  for (const [name, problem] of Object.entries(problems)) if (problem !== undefined) fields[name] = [problem];
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

/** {@link parseInputs} for one value, e.g. multipart fields. */
export const parseInput = <Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  problems?: FieldProblems,
): z.output<Schema> => parseInputs([{ schema, value, root: 'body' }], problems)[0] as z.output<Schema>;

/** A list in one query parameter, separated by commas. `schema` parses the text. */
export const queryList = <Schema extends z.ZodType<unknown, string>>(
  schema: Schema,
  { items, max }: { items: Record<string, unknown>; max?: number },
): Schema =>
  documentedAs(schema, {
    type: 'array',
    items,
    minItems: 1,
    ...(max === undefined ? {} : { maxItems: max }),
  });

export const ID_SCHEMA = { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER };
const isId = (text: string): boolean => /^[1-9]\d{0,15}$/.test(text) && Number.isSafeInteger(Number(text));

/** An id in a path: a positive safe integer. Anything else returns 404. */
export const idParam = documentedAs(z.coerce.string().refine(isId).transform(Number), ID_SCHEMA);

export const idParams = z.object({ id: idParam });

const ID_MAX = Number.MAX_SAFE_INTEGER;
const splitIds = (value: string): string[] => value.split(',').map((part) => part.trim());

/** One to `max` ids in a query string, separated by commas. `minimum`: 0 where a route accepts this id, too. */
export const queryIds = ({ max, minimum = 1 }: { max: number; minimum?: 0 | 1 }) =>
  queryList(
    z
      .string()
      .refine((value) => splitIds(value).every((part) => /^\d+$/.test(part) && Number(part) >= minimum), {
        ...withMessage('validation.type.integer'),
        abort: true,
      })
      .refine(
        (value) => splitIds(value).every((part) => Number(part) <= ID_MAX),
        withMessage('validation.max_value', { max: ID_MAX }),
      )
      .refine((value) => splitIds(value).length <= max, withMessage('validation.max_items', { count: max }))
      .transform((value) => [...new Set(splitIds(value).map(Number))]),
    { items: { ...ID_SCHEMA, minimum }, max },
  );

export const MAX_KEY_CHARACTERS = 255;
/** `Idempotency-Key`: visible characters. */
export const idempotencyKeySchema = z.string().regex(new RegExp(`^[\\x21-\\x7e]{1,${MAX_KEY_CHARACTERS}}$`));

/** `true`/`false`/`1`/`0` in a query string. */
export const queryBoolean = documentedAs(
  z.enum(['true', 'false', '1', '0']).transform((value) => value === 'true' || value === '1'),
  { type: 'boolean' },
);

/** A number up to `max` in a query string. Another form and a larger number have different messages. */
const digits = (form: RegExp, max: number) =>
  z
    .string()
    .refine((text) => form.test(text), { ...withMessage('validation.type.integer'), abort: true })
    .refine((text) => Number(text) <= max, withMessage('validation.max_value', { max }))
    .transform(Number);

/** A whole number from 0 in a query string. */
export const queryInteger = (max: number) =>
  documentedAs(digits(/^\d+$/, max), { type: 'integer', minimum: 0, maximum: max });

/** A whole number from 1 in a query string. */
export const queryCount = (max: number) =>
  documentedAs(digits(/^\d+$/, max).pipe(z.int().min(1)), { type: 'integer', minimum: 1, maximum: max });

/** A positive integer in a query string. */
export const queryId = documentedAs(digits(/^[1-9]\d*$/, Number.MAX_SAFE_INTEGER), ID_SCHEMA);
