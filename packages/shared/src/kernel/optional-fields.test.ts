import { expect, test } from '@jest/globals';
import { z } from 'zod';
import { withoutDefaults } from './optional-fields.ts';

const fields = {
  title: z.string(),
  is_active: z.boolean().meta({ description: 'Whether it is on sale' }).default(true),
  level: z.enum(['easy', 'hard']).nullable().default(null),
};
const creation = z.object(fields);
const change = z.object(withoutDefaults(fields)).partial();
const response = z.object(withoutDefaults(fields));

test('a creation sets omitted fields to their defaults', () => {
  expect(creation.parse({ title: 'A' })).toEqual({ title: 'A', is_active: true, level: null });
});

test('a change sets only the fields that it contains', () => {
  expect(change.parse({})).toEqual({});
  expect(change.parse({ level: null })).toEqual({ level: null });
  expect(change.safeParse({ level: 'other' }).success).toBe(false);
});

test('a response contains every field, with its description and without a default', () => {
  expect(response.safeParse({ title: 'A', is_active: true }).success).toBe(false);
  expect(z.toJSONSchema(response)).toMatchObject({
    properties: { is_active: { type: 'boolean', description: 'Whether it is on sale' } },
    required: ['title', 'is_active', 'level'],
  });
  expect(JSON.stringify(z.toJSONSchema(response))).not.toContain('default');
});
