/** One short random history against an in-memory model; model.long.test.ts plays many long ones. */
import { describe, expect, test } from '@jest/globals';
import { createModel } from './model.ts';
import { playHistories } from './model-runs.ts';
import { playSequences } from './model-sequence.ts';

describe('the model', () => {
  const credit = new Map([[1, 10]]);
  const debit = new Map([[1, -10]]);

  test('the model detects a debit that was accepted before the balance covered it', () => {
    const model = createModel([1]);
    model.begin('early', debit).end('accepted');
    model.begin('late', credit).end('accepted');
    expect(model.verdict()).toContain('early was accepted');
  });

  test('the model detects a debit that was refused although the balance always covered it', () => {
    const model = createModel([1]);
    model.begin('credit', credit).end('accepted');
    model.begin('debit', debit).end('refused');
    expect(model.verdict()).toContain('debit was refused');
  });

  test('the model’s balance is negative when two debits spend the same money', () => {
    const model = createModel([1]);
    model.begin('credit', credit).end('accepted');
    const [one, other] = [model.begin('one', debit), model.begin('other', debit)];
    one.end('accepted');
    other.end('accepted');
    expect(model.balances()).toEqual(new Map([[1, -10]]));
  });

  test('the model detects a balance that no order allows', () => {
    const model = createModel([1]);
    model.begin('credit', credit).end('accepted');
    model.read(1).end(5);
    expect(model.verdict()).toContain('user 1 was shown 5');
  });

  test('the model accepts responses that some order of overlapping operations allows', () => {
    const model = createModel([1, 2]);
    const [paid, refused, read] = [model.begin('paid', debit), model.begin('refused', debit), model.read(1)];
    const late = model.begin('credit', credit);
    late.end('accepted');
    paid.end('accepted');
    refused.end('refused');
    read.end(10);
    expect(model.verdict()).toBeUndefined();
  });
});

test('some order of the operations of 12 callers allows every response, and the audit agrees', () =>
  playHistories({ histories: 1, operations: 60, callers: 12 }));

test('a sequence of bookings, withdrawals and settlements has the same responses as the model', () =>
  playSequences(1, 30));
