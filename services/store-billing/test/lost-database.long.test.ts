/** The database is lost at each command of a redemption: errors follow the contract, and every paid purchase is granted. */
import { MINUTE_MS } from '@fitness/shared/kernel/clock.ts';
import { eventually } from '@fitness/shared/testing/harness.ts';
import { type LosingInstances, startLosingInstances } from '@fitness/shared/testing/lost-database.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  count,
  type Harness,
  newToken,
  newUser,
  putPurchase,
  redeem,
  startHarness,
  storeCalls,
} from './support.ts';

let harness: Harness;
let instances: LosingInstances;

beforeAll(async () => {
  harness = await startHarness();
  // Creates the counters and everything else that is created once.
  const token = newToken();
  await putPurchase(harness, token);
  await redeem(harness.send, newUser(), token);
  instances = await startLosingInstances(
    'store-billing',
    harness.config.MONGODB_URI,
    async (uri, overrides) => {
      const { service } = await harness.replica({ MONGODB_URI: uri }, overrides);
      return service;
    },
  );
});
afterAll(async () => {
  await instances?.close();
  await harness?.close();
});

/** More than the number of commands of a redemption. */
const COMMANDS = 16;

const paidPurchase = async () => {
  const [user, token] = [newUser(), newToken()];
  await putPurchase(harness, token);
  return { user, token };
};

const recovered = async (): Promise<boolean> => {
  harness.clock.advance(2 * MINUTE_MS);
  await harness.service.rounds.verifyAttempts();
  return (await count(harness, 'store_purchase_attempts', { state: 'open' })) === 0;
};

describe.each(['before', 'after'] as const)('the database is lost %s a command of a redemption', (side) => {
  test('a redemption returns 503 before the store call, grant_failed after its confirmation, or is granted', async () => {
    const cases = await Promise.all(Array.from({ length: COMMANDS }, paidPurchase));
    const losses = await instances.loseAtEach(side, cases, (send, { user, token }) =>
      redeem(send, user, token),
    );
    expect(losses.map(({ at }) => at)).toContain('commitTransaction');
    const confirmed = new Set<string>();
    for (const {
      at,
      answer,
      case: { token },
    } of losses) {
      const { status, body } = answer;
      const isConfirmed = (await storeCalls(harness, token)) > 0;
      if (isConfirmed) confirmed.add(token);
      if (status === 201) continue;
      const codes = isConfirmed ? ['store_purchase.grant_failed'] : [undefined, 'outcome_unknown'];
      expect({ at, status }).toEqual({ at, status: isConfirmed ? 500 : 503 });
      expect(codes).toContain(body.code);
    }
    await eventually(recovered);
    for (const {
      case: { user, token },
    } of losses) {
      if (confirmed.has(token))
        expect(await count(harness, 'subscriptions', { user_id: user.userId })).toBe(1);
      const again = await redeem(harness.send, user, token);
      expect([200, 201]).toContain(again.status);
      expect(await count(harness, 'subscriptions', { user_id: user.userId })).toBe(1);
    }
  });
});
