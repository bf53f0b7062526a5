import type { PaymentType } from '@fitness/contracts/payment-types.ts';
import { describe, expect, test } from '@jest/globals';
import { balanceEffect, isOpenWithdrawal } from './payment.ts';

const rejectedAt = new Date('2026-01-15T10:00:00Z');
const effect = (type: PaymentType, isDone: boolean, rejected = false) =>
  balanceEffect({ type, amount: 100, isDone, rejectedAt: rejected ? rejectedAt : null });

describe('the balance rule (specification 2.3, rules 1 and 3)', () => {
  test('verified deposits are added, and others are not', () => {
    expect([effect('deposit', true), effect('deposit', false)]).toEqual([100, 0]);
  });

  test('income is added', () => {
    expect(effect('income', true)).toBe(100);
  });

  test('completed purchases and commissions are subtracted', () => {
    expect([effect('purchase', true), effect('commission', true)]).toEqual([-100, -100]);
    expect([effect('purchase', false), effect('commission', false)]).toEqual([0, 0]);
  });

  test('every withdrawal that is not rejected is subtracted, pending or paid', () => {
    expect([effect('withdrawal', false), effect('withdrawal', true)]).toEqual([-100, -100]);
    expect(effect('withdrawal', false, true)).toBe(0);
  });

  test('a store purchase never changes the balance', () => {
    expect([effect('store_purchase', true), effect('store_purchase', false)]).toEqual([0, 0]);
  });
});

test('a withdrawal is open until it is paid or rejected', () => {
  expect(isOpenWithdrawal({ type: 'withdrawal', isDone: false, rejectedAt: null })).toBe(true);
  expect(isOpenWithdrawal({ type: 'withdrawal', isDone: true, rejectedAt: null })).toBe(false);
  expect(isOpenWithdrawal({ type: 'withdrawal', isDone: false, rejectedAt })).toBe(false);
  expect(isOpenWithdrawal({ type: 'deposit', isDone: false, rejectedAt: null })).toBe(false);
});
