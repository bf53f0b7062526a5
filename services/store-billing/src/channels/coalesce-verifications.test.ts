import { describe, expect, test } from '@jest/globals';
import type { Verdict } from '../domain/verdict.ts';
import type { StoreChannel, StoreProduct } from './channel.ts';
import { coalesceVerifications } from './coalesce-verifications.ts';

const PURCHASED: Verdict = { kind: 'purchased' };
const PENDING: Verdict = { kind: 'not_purchased', reason: 'pending' };
const UNREACHABLE: Verdict = { kind: 'unreachable', detail: 'HTTP 503' };

/** A store whose responses the test supplies, one request at a time. */
const storeOf = () => {
  const answers: ((verdict: Verdict) => void)[] = [];
  const channel: StoreChannel = {
    name: 'store',
    verify: () => new Promise((resolve) => answers.push(resolve)),
    acknowledge: async () => ({ outcome: 'done' }),
    findRefunded: async () => [],
  };
  return { answers, channel: coalesceVerifications(channel) };
};
const product = (purchaseToken = 'token', productId = 'premium_plus'): StoreProduct => ({
  productId,
  purchaseToken,
});
/** Lets pending promises settle. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('coalesceVerifications', () => {
  test.each([PURCHASED, UNREACHABLE])(
    'fifty concurrent verifications send one request, whose result is $kind',
    async (verdict) => {
      const { answers, channel } = storeOf();
      const verdicts = Promise.all(Array.from({ length: 50 }, () => channel.verify(product())));
      await settled();
      expect(answers).toHaveLength(1);
      answers[0]?.(verdict);
      expect(await verdicts).toEqual(Array.from({ length: 50 }, () => verdict));
      expect(answers).toHaveLength(1);
    },
  );

  test('a negative verdict is not reused for a caller that arrived during the request', async () => {
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

  test('a verdict is not cached', async () => {
    const { answers, channel } = storeOf();
    const first = channel.verify(product());
    answers[0]?.(PURCHASED);
    await first;
    void channel.verify(product());
    expect(answers).toHaveLength(2);
  });

  test('a different token or product is verified in its own request', async () => {
    const { answers, channel } = storeOf();
    void channel.verify(product('a'));
    void channel.verify(product('b'));
    void channel.verify(product('a', 'boost_pro'));
    expect(answers).toHaveLength(3);
  });
});
