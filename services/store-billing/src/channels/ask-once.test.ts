import { describe, expect, test } from '@jest/globals';
import type { Verdict } from '../domain/verdict.ts';
import { askOnce } from './ask-once.ts';
import type { StoreChannel, StoreProduct } from './channel.ts';

const PURCHASED: Verdict = { kind: 'purchased' };
const PENDING: Verdict = { kind: 'not_purchased', reason: 'pending' };
const SILENT: Verdict = { kind: 'unreachable', detail: 'HTTP 503' };

/** A store whose answers the test gives, one question after the other. */
const storeOf = () => {
  const answers: ((verdict: Verdict) => void)[] = [];
  const channel: StoreChannel = {
    name: 'store',
    verify: () => new Promise((resolve) => answers.push(resolve)),
    settle: async () => ({ outcome: 'done' }),
    findRefunded: async () => [],
  };
  return { answers, channel: askOnce(channel) };
};
const product = (purchaseToken = 'token', productId = 'premium_plus'): StoreProduct => ({
  productId,
  purchaseToken,
});
/** Everything that is ready has happened. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('askOnce', () => {
  test.each([PURCHASED, SILENT])('fifty questions at a time are one, answered $kind', async (verdict) => {
    const { answers, channel } = storeOf();
    const verdicts = Promise.all(Array.from({ length: 50 }, () => channel.verify(product())));
    await settled();
    expect(answers).toHaveLength(1);
    answers[0]?.(verdict);
    expect(await verdicts).toEqual(Array.from({ length: 50 }, () => verdict));
    expect(answers).toHaveLength(1);
  });

  test('a "no" on its way before one came is not his answer: he is answered by a younger question', async () => {
    const { answers, channel } = storeOf();
    const first = channel.verify(product());
    const later = Promise.all([channel.verify(product()), channel.verify(product())]);
    answers[0]?.(PENDING);
    expect(await first).toEqual(PENDING);
    await settled();
    expect(answers).toHaveLength(2);
    answers[1]?.(PURCHASED);
    expect(await later).toEqual([PURCHASED, PURCHASED]);
  });

  test('an answered question is not remembered', async () => {
    const { answers, channel } = storeOf();
    const first = channel.verify(product());
    answers[0]?.(PURCHASED);
    await first;
    void channel.verify(product());
    expect(answers).toHaveLength(2);
  });

  test('another token, or another product, is another question', async () => {
    const { answers, channel } = storeOf();
    void channel.verify(product('a'));
    void channel.verify(product('b'));
    void channel.verify(product('a', 'boost_pro'));
    expect(answers).toHaveLength(3);
  });
});
