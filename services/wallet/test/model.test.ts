/** A random history against a model in memory; many of them are in model.long.test.ts. */
import { describe, expect, test } from '@jest/globals';
import { createModel } from './model.ts';
import { playHistories } from './model-runs.ts';

describe('the model', () => {
  const credit = new Map([[1, 10]]);
  const debit = new Map([[1, -10]]);

  test('finds a debit that was accepted before there was money for it', () => {
    const model = createModel([1]);
    model.begin('early', debit).end('accepted');
    model.begin('late', credit).end('accepted');
    expect(model.verdict()).toContain('early was accepted');
  });

  test('finds a debit that was refused though the money was there all the time', () => {
    const model = createModel([1]);
    model.begin('credit', credit).end('accepted');
    model.begin('debit', debit).end('refused');
    expect(model.verdict()).toContain('debit was refused');
  });

  test('finds two debits that spent the same money', () => {
    const model = createModel([1]);
    model.begin('credit', credit).end('accepted');
    const [one, other] = [model.begin('one', debit), model.begin('other', debit)];
    one.end('accepted');
    other.end('accepted');
    expect(model.balances()).toEqual(new Map([[1, -10]]));
  });

  test('finds a balance that no order shows', () => {
    const model = createModel([1]);
    model.begin('credit', credit).end('accepted');
    model.read(1).end(5);
    expect(model.verdict()).toContain('user 1 was shown 5');
  });

  test('allows whatever some order of overlapping operations allows', () => {
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

test(
  'whatever 64 callers do at once, every answer is one that some order allows, and the books are right',
  () => playHistories(1),
  300_000,
);
