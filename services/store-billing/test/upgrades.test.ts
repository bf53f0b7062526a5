/** Data that older releases have stored, after an upgrade (docs/adr/0014). */
import { DAY_MS } from '@fitness/shared/kernel/clock.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import {
  buyPremium,
  type Harness,
  newId,
  newToken,
  newUser,
  PREMIUM,
  putPurchase,
  redeem,
  startHarness,
} from './support.ts';

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
});
afterAll(() => harness.close());

test('the next start publishes running subscriptions and boosts again, with their times and a newer version', async () => {
  const user = newUser();
  const subscribe = async () => {
    harness.wallet.balances.set(user.userId, PREMIUM);
    return (await buyPremium(harness.send, user)).body.data;
  };
  const expired = await subscribe();
  harness.clock.advance(32 * DAY_MS);
  const running = await subscribe();
  const gymId = newId();
  harness.targets.gyms.set(gymId, { user_id: user.userId, is_active: true });
  const token = newToken();
  await putPurchase(harness, token, 'purchased', 'boost_pro');
  const fields = { product_id: 'boost_pro', boostable_type: 'gym', boostable_id: gymId };
  const boost = (await redeem(harness.send, user, token, fields)).body.data;
  // An older release has not done the upgrade.
  await harness.database.collection('upgrades').deleteMany({});
  await harness.replica();
  const again = await harness.tap.waitFor('store_billing.subscription.started', {
    matches: ({ subject, aggregateversion }) =>
      subject === `subscription-${running.id}` && aggregateversion === 2,
  });
  expect(again.data).toMatchObject({
    ...{ subscription_id: running.id, user_id: user.userId, type: 'plus' },
    ...{ starts_at: running.starts_at, expires_at: running.expires_at },
  });
  const boosted = await harness.tap.waitFor('store_billing.boost.granted', {
    matches: ({ subject, aggregateversion }) => subject === `boost-${boost.id}` && aggregateversion === 2,
  });
  expect(boosted.data).toMatchObject({
    boost_id: boost.id,
    starts_at: boost.starts_at,
    ends_at: boost.ends_at,
  });
  const ofExpired = harness.tap.events.filter(({ subject }) => subject === `subscription-${expired.id}`);
  expect(ofExpired.map(({ aggregateversion }) => aggregateversion)).toEqual([1]);
});

test('a grant starts when it is created, as the copies of other services assume', async () => {
  const user = newUser();
  harness.wallet.balances.set(user.userId, PREMIUM);
  const { data } = (await buyPremium(harness.send, user)).body;
  expect(data.starts_at).toBe(data.created_at);
});
