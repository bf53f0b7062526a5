import { describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { isAppError, type Message } from '../kernel/error.ts';
import { translator } from '../kernel/i18n/translate.ts';
import { wellFormed, withMessage } from '../kernel/refinements.ts';
import {
  idParam,
  idParams,
  parseInput,
  parseInputs,
  queryBoolean,
  queryId,
  queryList,
} from './validation.ts';

const refusalOf = (work: () => unknown): Record<string, Message[]> => {
  try {
    work();
  } catch (error) {
    if (isAppError(error) && error.kind === 'validation') return error.fields ?? {};
    throw error;
  }
  throw new Error('it was accepted');
};

/** The English messages for `value` under `schema`, by field. */
const textsOf = (schema: z.ZodType, value: unknown): Record<string, string[]> => {
  const fields = refusalOf(() => parseInput(schema, value));
  return Object.fromEntries(
    Object.entries(fields).map(([name, texts]) => [name, texts.map(translator('en'))]),
  );
};

const NO_IDS = ['', '0', '-1', '1.5', '01', ' 1', '1 ', '1e3', '0x1', '+1', 'abc', 'NaN', '٣'];
const TOO_LARGE = ['9007199254740992', '9'.repeat(16), '9'.repeat(400)];

describe('an id in a path', () => {
  test.each([
    ['1', 1],
    ['9007199254740991', 9_007_199_254_740_991],
  ])('%s in a path is the id %i', (text, id) => {
    expect(idParams.parse({ id: text })).toEqual({ id });
  });

  test.each([...NO_IDS, ...TOO_LARGE])('%p in a path is not an id', (text) => {
    expect(idParam.safeParse(text).success).toBe(false);
  });

  test('an id in a path is documented as an integer of at least 1, and as nothing else', () => {
    const schema = z.toJSONSchema(idParams, { io: 'input' });
    expect(schema.properties).toEqual({
      id: { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER },
    });
    expect(schema.required).toEqual(['id']);
  });
});

describe('a list in a query', () => {
  const numbers = queryList(
    z.string().transform((text) => text.split(',').map(Number)),
    { items: { type: 'integer' }, max: 3 },
  );

  test('a list in a query is separated by commas', () => {
    expect(numbers.parse('1,2')).toEqual([1, 2]);
    expect([undefined, ['1', '2']].map((value) => numbers.safeParse(value).success)).toEqual([false, false]);
  });

  test('a list in a query is documented as a list', () => {
    const documented = { type: 'array', items: { type: 'integer' }, minItems: 1, maxItems: 3 };
    expect(z.toJSONSchema(numbers.optional(), { io: 'input' })).toMatchObject(documented);
  });
});

describe('an id in a query', () => {
  test('an id in a query is a positive whole number', () => {
    expect(queryId.parse('12')).toBe(12);
    expect(z.toJSONSchema(queryId.optional(), { io: 'input' })).toMatchObject({
      type: 'integer',
      minimum: 1,
    });
  });

  test.each(NO_IDS)('%p is refused because it is not a whole number', (text) => {
    const schema = z.object({ user_id: queryId });
    expect(textsOf(schema, { user_id: text })).toEqual({ user_id: ['This field must be a whole number.'] });
  });

  test.each(TOO_LARGE)('%p is refused as too large', (text) => {
    const schema = z.object({ user_id: queryId });
    const message = 'This field must be at most 9,007,199,254,740,991.';
    expect(textsOf(schema, { user_id: text })).toEqual({ user_id: [message] });
  });

  test('an id that is sent twice is refused', () => {
    const schema = z.object({ user_id: queryId });
    expect(Object.keys(textsOf(schema, { user_id: ['1', '2'] }))).toEqual(['user_id']);
  });
});

describe('a boolean in a query', () => {
  test.each([
    ['true', true],
    ['1', true],
    ['false', false],
    ['0', false],
  ])('the text %s in a query is the boolean %p', (text, value) => {
    expect(queryBoolean.parse(text)).toBe(value);
  });

  test.each(['', 'yes', 'TRUE', 'on', '2', ' true'])('the text %p in a query is not a boolean', (text) => {
    expect(textsOf(z.object({ in_blog: queryBoolean }), { in_blog: text })).toEqual({
      in_blog: ['This field must be one of: 0, 1, true, false.'],
    });
  });
});

describe('each invalid field has its message', () => {
  test.each<[string, z.ZodType, unknown, string]>([
    ['missing', z.string(), undefined, 'This field is required.'],
    ['missing, of an enumeration', z.enum(['a', 'b']), undefined, 'This field is required.'],
    ['missing, of a union', z.union([z.string(), z.int()]), undefined, 'This field is required.'],
    ['null where it is not allowed', z.string(), null, 'This field must be a string.'],
    ['no text', z.string(), 5, 'This field must be a string.'],
    ['no number', z.number(), '5', 'This field must be a number.'],
    ['a fraction', z.int(), 1.5, 'This field must be a whole number.'],
    ['a number too large to be exact', z.int(), 1e300, 'This field must be at most 9,007,199,254,740,991.'],
    ['not a boolean', z.boolean(), 'true', 'This field must be true or false.'],
    ['no list', z.array(z.int()), {}, 'This field must be a list.'],
    ['no object', z.object({}), [], 'This field must be an object.'],
    ['anything but null', z.null(), 'x', 'Only null is accepted here.'],
    ['too short', z.string().min(3), 'ab', 'This field must be at least 3 characters long.'],
    ['empty', z.string().min(1), '', 'This field is required.'],
    ['blank', z.string().trim().length(6), '  ', 'This field is required.'],
    ['too long', z.string().max(3), 'abcd', 'This field must be at most 3 characters long.'],
    ['of the wrong length', z.string().length(6), '12345', 'This field must be exactly 6 characters long.'],
    ['too small', z.int().min(1_000), 999, 'This field must be at least 1,000.'],
    ['too big', z.int().max(5), 6, 'This field must be at most 5.'],
    ['too few', z.array(z.int()).min(1), [], 'This list must have at least 1 item.'],
    ['too many', z.array(z.int()).max(1), [1, 2], 'This list must have at most 1 item.'],
    ['in an unknown format', z.string().regex(/^a$/), 'b', 'This field does not have the right format.'],
    ['no email address', z.email(), 'x', 'Enter a valid email address.'],
    ['no date', z.iso.date(), '2026-02-30', 'Enter a date in the format YYYY-MM-DD.'],
    ['no moment', z.iso.datetime(), 'now', 'Enter a valid date and time.'],
    ['not in the enumeration', z.enum(['a', 'b']), 'c', 'This field must be one of: a, b.'],
    [
      'a custom rule',
      z.string().refine(() => false, withMessage('validation.phone')),
      'x',
      'Enter a valid phone number.',
    ],
    [
      'a rule with a number',
      z.string().refine(() => false, withMessage('validation.min_length', { count: 9 })),
      'x',
      'This field must be at least 9 characters long.',
    ],
    ['a rule without a message', z.string().refine(() => false), 'x', 'This value is not valid.'],
    ['of no type in the union', z.union([z.string(), z.int()]), true, 'This value is not valid.'],
  ])('an invalid value has its message: %s', (_what, schema, value, text) => {
    expect(textsOf(z.object({ field: schema }), { field: value })).toEqual({ field: [text] });
  });

  test('an invalid field has its path inside lists and objects', () => {
    const schema = z.object({ periods: z.array(z.object({ weekday: z.int().max(6) })) });
    const fields = textsOf(schema, { periods: [{ weekday: 1 }, { weekday: 7 }, {}] });
    expect(Object.keys(fields)).toEqual(['periods.1.weekday', 'periods.2.weekday']);
  });

  test('query and body are validated together, and an issue with the whole body is under `body`', () => {
    const fields = refusalOf(() =>
      parseInputs([
        { schema: z.object({ page: z.string() }), value: {}, root: 'query' },
        { schema: z.object({ name: z.string() }), value: [], root: 'body' },
        { schema: undefined, value: 'anything', root: 'params' },
      ]),
    );
    expect(Object.keys(fields)).toEqual(['page', 'body']);
  });

  test("field names of the client's choice, such as `constructor`, are handled", () => {
    const schema = z.object({ titles: z.record(z.string(), z.int()) });
    const flat = z.record(z.string(), z.int());
    const names = ['constructor', 'toString', 'hasOwnProperty', '__proto__'];
    const value = Object.fromEntries(names.map((name) => [name, 'x']));
    expect(Object.keys(textsOf(schema, { titles: value })).length).toBeGreaterThan(0);
    expect(Object.keys(textsOf(flat, value))).toEqual(expect.arrayContaining(names.slice(0, 3)));
  });
});

test('valid input is returned parsed, without unknown fields', () => {
  const schema = z.object({ name: z.string(), size: z.int().default(3) });
  expect(parseInput(schema, { name: 'x', other: 1 })).toEqual({ name: 'x', size: 3 });
});

test('well-formed text has no lone surrogate, and its other rules still apply', () => {
  const schema = z.object({ text: wellFormed(z.string().trim().max(10)) });
  expect(parseInput(schema, { text: ' سارا 🏋 ' })).toEqual({ text: 'سارا 🏋' });
  for (const text of ['\ud800', 'a\udc00b', '\udfcb\ud83c']) {
    expect(textsOf(schema, { text })).toEqual({ text: ['This field does not have the right format.'] });
  }
  expect(Object.keys(refusalOf(() => parseInput(schema, { text: 'x'.repeat(11) })))).toEqual(['text']);
});
