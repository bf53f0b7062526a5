import { defineEvent } from '@fitness/proto/events/define-event.ts';
import { cloudEventSchema, eventSource } from '@fitness/proto/events/envelope.ts';
import { expect, test } from '@jest/globals';
import { z } from 'zod';

const schema = cloudEventSchema(z.object({ order_id: z.int() }));
const event = {
  specversion: '1.0',
  id: '3f2b8a52-6d0b-4c0e-9d8e-0f6a9a6f1c11',
  source: eventSource('store-billing'),
  type: 'shop.order.placed',
  subject: '7',
  time: '2026-01-15T10:00:00.000Z',
  datacontenttype: 'application/json',
  aggregateversion: 0,
  data: { order_id: 7 },
};

test('a CloudEvents 1.0 envelope is accepted, and unknown extensions are dropped', () => {
  expect(schema.parse({ ...event, partitionkey: 'x' })).toEqual(event);
});

test.each([
  ['specversion', '0.3'],
  ['id', 'seven'],
  ['source', 'store-billing'],
  ['type', ''],
  ['subject', 7],
  ['time', 'yesterday'],
  ['datacontenttype', 'text/plain'],
  ['aggregateversion', -1],
  ['data', { order_id: 'x' }],
])('a wrong %s is refused', (attribute, value) => {
  expect(schema.safeParse({ ...event, [attribute]: value }).success).toBe(false);
});

test('an event type must be dotted lower case', () => {
  const data = z.object({});
  expect(defineEvent({ type: 'shop.order.placed', data }).type).toBe('shop.order.placed');
  expect(() => defineEvent({ type: 'OrderPlaced', data })).toThrow('OrderPlaced');
});
