import { describe, expect, test } from '@jest/globals';
import { toClientSchema, toResponseSchema } from './client-schemas.ts';
import type { Schema } from './schema.ts';

const MAX = Number.MAX_SAFE_INTEGER;
const answer = (schema: Schema): Schema => toClientSchema(schema, 'response');
const request = (schema: Schema): Schema => toClientSchema(schema, 'request');

describe('an integer', () => {
  test('an integer has 64 bits unless its maximum fits into 32 bits', () => {
    expect(answer({ type: 'integer', minimum: -MAX, maximum: MAX })).toEqual({
      type: 'integer',
      format: 'int64',
    });
    expect(answer({ type: 'integer', minimum: 1, maximum: 5 })).toEqual({
      type: 'integer',
      format: 'int32',
      minimum: 1,
      maximum: 5,
    });
  });

  test('an integer in a request has the largest exact number as its maximum', () => {
    expect(request({ type: 'integer', exclusiveMinimum: 0, maximum: MAX })).toEqual({
      type: 'integer',
      format: 'int64',
      minimum: 1,
      maximum: MAX,
    });
  });

  test('an integer that may be null has a nullable type', () => {
    const anyOf = [{ type: 'integer', maximum: 300 }, { type: 'null' }];
    expect(answer({ anyOf, description: 'Centimeters' })).toEqual({
      type: ['integer', 'null'],
      format: 'int32',
      maximum: 300,
      description: 'Centimeters',
    });
  });
});

test('a reference and an enumeration that may be null stay a union with null', () => {
  for (const one of [{ $ref: '#/components/schemas/City' }, { type: 'string', enum: ['a'] }]) {
    const schema = { anyOf: [one, { type: 'null' }] };
    expect(answer(schema)).toEqual(schema);
  }
});

test('an object at any depth may have further fields, and one with any fields stays open', () => {
  const inner = { type: 'object', properties: { a: { type: 'string' } }, additionalProperties: false };
  expect(answer({ type: 'array', items: inner })).toEqual({
    type: 'array',
    items: { type: 'object', properties: { a: { type: 'string' } } },
  });
  const open = { type: 'object', propertyNames: { type: 'string' }, additionalProperties: {} };
  expect(answer(open)).toEqual({ type: 'object', additionalProperties: {} });
});

test('values with a backslash become a pattern that matches only them', () => {
  const values = ['App\\Models\\Gym', 'App\\Models\\User'];
  const { enum: none, pattern, examples } = request({ type: 'string', enum: values });
  expect([none, examples]).toEqual([undefined, values]);
  const matches = (value: string): boolean => new RegExp(String(pattern)).test(value);
  expect(values.map(matches)).toEqual([true, true]);
  expect(['App\\Models\\Gymnast', 'AppxModelsxGym', ''].map(matches)).toEqual([false, false, false]);
});

test('enumerated values that are not identifiers get names', () => {
  expect(request({ type: 'string', enum: ['gyms.update', '320'] })['x-enum-varnames']).toEqual([
    'gyms_update',
    'value_320',
  ]);
  expect(request({ type: 'string', enum: ['ASC', 'DESC'] })).toEqual({
    type: 'string',
    enum: ['ASC', 'DESC'],
  });
});

test('an enumeration in a response is open text that names the known values, even if it may be null', () => {
  const values = { type: 'string', enum: ['a', 'b'] };
  const properties = {
    kind: { ...values, description: 'Kind.' },
    other: { anyOf: [values, { type: 'null' }], description: 'Null if there is none' },
    scheme: { type: 'string', const: 'Bearer' },
  };
  expect(toResponseSchema({ type: 'object', properties })).toEqual({
    type: 'object',
    properties: {
      kind: {
        type: 'string',
        'x-extensible-enum': ['a', 'b'],
        description: 'Kind. Known values: `a`, `b`. Expect further ones.',
      },
      other: {
        type: ['string', 'null'],
        'x-extensible-enum': ['a', 'b'],
        description: 'Null if there is none. Known values: `a`, `b`. Expect further ones.',
      },
      scheme: { type: 'string', const: 'Bearer' },
    },
  });
});

test('a flag that is always true is a boolean, with the value in its description', () => {
  expect(answer({ type: 'boolean', const: true })).toEqual({ type: 'boolean', description: 'Always `true`' });
  const text = { type: 'string', const: 'Bearer' };
  expect(answer(text)).toEqual(text);
});

test('a field may have the name of a schema keyword', () => {
  const schema = { type: 'object', properties: { items: { type: 'boolean' }, enum: { type: 'string' } } };
  expect(answer(schema)).toEqual(schema);
});

test('the input schema is not modified', () => {
  const input = { type: 'object', properties: { a: { type: 'integer' } }, additionalProperties: false };
  const before = structuredClone(input);
  answer(input);
  expect(input).toEqual(before);
});
