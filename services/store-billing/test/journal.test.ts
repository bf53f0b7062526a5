/** The journal of redemptions at the moments when two hold one attempt: the background's view of it may be an old one. */
import { systemRandom } from '@fitness/shared/clock.ts';
import { createSequences } from '@fitness/shared/mongo/sequence.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Attempt, AttemptState, Presentation } from '../src/domain/attempt.ts';
import { type BillingStore, createStore } from '../src/store/store.ts';
import { newId, newToken, startWorld, type World } from './support.ts';

let world: World;
let store: BillingStore;
beforeAll(async () => {
  world = await startWorld();
  store = createStore(world.database, createSequences(world.database), systemRandom);
});
afterAll(() => world.close());

const presentation = (): Presentation => ({
  channel: 'cafebazaar',
  purchaseToken: newToken(),
  productId: 'premium_plus',
  userId: newId(),
  target: null,
});
const open = async (presented: Presentation): Promise<Attempt> => {
  const attempt = await store.attempts.open(presented, world.clock.now());
  if (attempt === 'granted') throw new Error('it is granted');
  return attempt;
};
const stateOf = async ({ id }: Attempt): Promise<unknown> => {
  const attempts = world.database.collection<{ _id: string; state: string }>('store_purchase_attempts');
  return (await attempts.findOne({ _id: id }))?.state;
};

const ENDS: Exclude<AttemptState, 'open'>[] = ['closed', 'given_up', 'refund_due', 'granted'];

describe('an attempt', () => {
  test.each(ENDS)('that is presented again is not ended as %s by who saw it before', async (end) => {
    const presented = presentation();
    const seen = await open(presented);
    const again = await open(presented);
    await store.attempts.settle(seen, end, 'old', world.clock.now());
    expect(await stateOf(seen)).toBe('open');
    await store.attempts.settle(again, end, 'new', world.clock.now());
    expect(await stateOf(again)).toBe(end);
  });

  test.each(ENDS)('that was granted meanwhile stays granted, whoever ends it as %s', async (end) => {
    const attempt = await open(presentation());
    const { attempts } = store;
    expect(await store.transaction((session) => attempts.grant(session, attempt, world.clock.now()))).toBe(
      true,
    );
    await attempts.settle(attempt, end, 'late', world.clock.now());
    await attempts.postpone(attempt, 'late', world.clock.now());
    expect(await stateOf(attempt)).toBe('granted');
    expect(await attempts.open(attempt, world.clock.now())).toBe('granted');
  });
});
