/** The journal of redemptions while a request and the background each hold a copy of one attempt. */
import { systemRandom } from '@fitness/shared/kernel/clock.ts';
import { createSequences } from '@fitness/shared/mongo/sequence.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Attempt, AttemptState, Presentation } from '../src/domain/attempt.ts';
import { createStore, type Store } from '../src/store/store.ts';
import { type Harness, newId, newToken, startHarness } from './support.ts';

let harness: Harness;
let store: Store;
beforeAll(async () => {
  harness = await startHarness();
  store = createStore(harness.database, createSequences(harness.database), {
    random: systemRandom,
    realTime: harness.clock,
  });
});
afterAll(() => harness.close());

const presentation = (): Presentation => ({
  channel: 'cafebazaar',
  purchaseToken: newToken(),
  productId: 'premium_plus',
  userId: newId(),
  target: null,
});
const open = async (presented: Presentation): Promise<Attempt> => {
  const attempt = await store.attempts.open(presented, harness.clock.now());
  if (attempt === 'granted') throw new Error('the attempt is already granted');
  return attempt;
};
const stateOf = async ({ id }: Attempt): Promise<unknown> => {
  const attempts = harness.database.collection<{ _id: string; state: string }>('store_purchase_attempts');
  return (await attempts.findOne({ _id: id }))?.state;
};

const ENDS: Exclude<AttemptState, 'open'>[] = ['closed', 'given_up', 'refund_due', 'granted'];

describe('an attempt', () => {
  test.each(ENDS)(
    'an attempt that is presented again is not finished as %s with the older revision',
    async (end) => {
      const presented = presentation();
      const seen = await open(presented);
      const again = await open(presented);
      await store.attempts.finish(seen, end, 'old', harness.clock.now());
      expect(await stateOf(seen)).toBe('open');
      await store.attempts.finish(again, end, 'new', harness.clock.now());
      expect(await stateOf(again)).toBe(end);
    },
  );

  test.each(ENDS)(
    'an attempt that was granted in the meantime stays granted when it is finished as %s',
    async (end) => {
      const attempt = await open(presentation());
      const { attempts } = store;
      expect(
        await store.transaction((session) => attempts.grant(session, attempt, harness.clock.now())),
      ).toBe(true);
      await attempts.finish(attempt, end, 'late', harness.clock.now());
      await attempts.postpone(attempt, 'late', harness.clock.now());
      expect(await stateOf(attempt)).toBe('granted');
      expect(await attempts.open(attempt, harness.clock.now())).toBe('granted');
    },
  );
});
