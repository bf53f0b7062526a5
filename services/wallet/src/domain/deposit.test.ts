import { DAY_MS, HOUR_MS, MINUTE_MS } from '@fitness/shared/kernel/clock.ts';
import { describe, expect, test } from '@jest/globals';
import { decideDeposit, type GatewayAnswer, nextCheckAt, readPaidAt, verifiedFields } from './deposit.ts';
import { newPayment } from './payment.ts';

const createdAt = new Date('2026-01-15T10:00:00Z');
const soon = new Date(createdAt.getTime() + MINUTE_MS);
const late = new Date(createdAt.getTime() + DAY_MS);
const atTheEnd = new Date(late.getTime() + 3 * DAY_MS);
const anHourAfter = (time: Date): Date => new Date(time.getTime() + HOUR_MS);
const payment = newPayment({
  id: 7,
  userId: 1,
  type: 'deposit',
  amount: 10_000,
  description: 'Top up',
  meta: { amount: 10_000, gateway_fee: 100, payable_amount: 10_100 },
  isDone: false,
  createdAt,
  gateway: {
    trackId: '99',
    state: 'open',
    orderId: '7-secret',
    checkAt: null,
    reported: null,
    resolution: null,
  },
});
const receipt = {
  amountRial: 101_000,
  orderId: '7',
  refNumber: '42',
  cardNumber: '6274****44',
  paidAt: '2026-01-15T10:00:30.000Z',
};
const paid = (changes = {}): GatewayAnswer => ({ kind: 'paid', receipt: { ...receipt, ...changes } });

describe('a response of the gateway', () => {
  test('a payment of our order at our price is credited at any time', () => {
    expect(decideDeposit(payment, paid(), soon).kind).toBe('credit');
    expect(decideDeposit(payment, paid(), late).kind).toBe('credit');
  });

  test.each([
    { amountRial: 100_000 },
    { amountRial: 10_100 },
    { orderId: '8' },
    { orderId: '7-other' },
    { orderId: '8-secret' },
  ])('a receipt with %p is disputed, with what the gateway took', (changes) => {
    const expected = { kind: 'dispute', receipt: { ...receipt, ...changes } };
    expect(decideDeposit(payment, paid(changes), soon)).toEqual(expected);
  });

  test('a payment with our full order id is credited', () => {
    expect(decideDeposit(payment, paid({ orderId: '7-secret' }), soon).kind).toBe('credit');
  });

  test.each([{ amountRial: null }, { orderId: null }])(
    'a receipt with %p is verified again, and disputed after a day',
    (changes) => {
      expect(decideDeposit(payment, paid(changes), soon)).toEqual({ kind: 'wait' });
      expect(decideDeposit(payment, paid(changes), late).kind).toBe('dispute');
    },
  );

  test.each([
    [3, 'cancelled'],
    [4, 'failed'],
    [5, 'failed'],
    [12, 'failed'],
    [15, 'failed'],
    [18, 'failed'],
  ])('an unpaid deposit with status %i is %s, and due again until four days have passed', (status, state) => {
    const answer: GatewayAnswer = { kind: 'unpaid', status };
    const closed = { kind: 'close', state };
    expect(decideDeposit(payment, answer, soon)).toEqual({ ...closed, checkAt: anHourAfter(soon) });
    expect(decideDeposit(payment, answer, atTheEnd)).toEqual({ ...closed, checkAt: null });
  });

  test.each<GatewayAnswer>([
    { kind: 'unpaid', status: -1 },
    { kind: 'unpaid', status: -2 },
    { kind: 'unpaid', status: 2 },
    { kind: 'unpaid', status: null },
    { kind: 'unknown_track' },
  ])('a deposit with the response %p waits for a day, then expires', (answer) => {
    expect(decideDeposit(payment, answer, soon)).toEqual({ kind: 'wait' });
    const expired = { kind: 'close', state: 'expired' };
    expect(decideDeposit(payment, answer, late)).toEqual({ ...expired, checkAt: anHourAfter(late) });
    expect(decideDeposit(payment, answer, atTheEnd)).toEqual({ ...expired, checkAt: null });
  });
});

describe('a credited deposit', () => {
  test('a credited deposit has the gateway’s data in its meta and the reference on a separate line', () => {
    expect(verifiedFields(payment, receipt, soon)).toEqual({
      meta: {
        amount: 10_000,
        gateway_fee: 100,
        payable_amount: 10_100,
        track_id: '99',
        ref_number: '42',
        card_number: '6274****44',
        paid_at: '2026-01-15T10:00:30.000Z',
        charged_rial: 101_000,
      },
      description: 'Top up\n42',
    });
  });

  test('a credit without a reference keeps the description, and one without a time uses the current time', () => {
    const bare = { ...receipt, refNumber: null, paidAt: null };
    const { meta, description } = verifiedFields(payment, bare, soon);
    expect(description).toBe('Top up');
    expect(meta).toMatchObject({ ref_number: null, paid_at: soon.toISOString() });
  });
});

test.each([
  ['2026-01-15T10:00:00.123000', '2026-01-15T10:00:00.123Z'],
  ['2026-01-15 10:00:00', '2026-01-15T10:00:00.000Z'],
  ['2026-01-15T13:30:00+03:30', '2026-01-15T10:00:00.000Z'],
  ['1404/10/25 10:00', null],
  ['yesterday', null],
  ['', null],
  [null, null],
  [undefined, null],
])('the gateway’s time %p is parsed as %p', (text, expected) => {
  expect(readPaidAt(text)).toBe(expected);
});

test('an open deposit is verified every 2 minutes, every 15 after half an hour, and a closed one hourly', () => {
  expect(nextCheckAt(payment, soon).getTime() - soon.getTime()).toBe(2 * MINUTE_MS);
  const later = new Date(createdAt.getTime() + 31 * MINUTE_MS);
  expect(nextCheckAt(payment, later).getTime() - later.getTime()).toBe(15 * MINUTE_MS);
  const { gateway } = payment;
  const closed = { ...payment, gateway: gateway && { ...gateway, state: 'cancelled' as const } };
  expect(nextCheckAt(closed, soon)).toEqual(anHourAfter(soon));
});
