/**
 * What each store response means for the client and the journal. The verdicts of each channel are tested in channels.test.ts;
 * what follows from a verdict does not depend on the channel. Refused credentials: background.test.ts.
 */
import type { Send } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { productEnvironment } from '../../../sandbox/src/providers/index.ts';
import { CHANNEL_NAMES, type ChannelName } from '../src/channels/index.ts';
import { type Behavior, say, storeThat } from './misbehaving-store.ts';
import {
  count,
  type Harness,
  isConsumed,
  newId,
  newToken,
  newUser,
  putPurchase,
  redeem,
  SHORT_STORE_TIMEOUT_MS,
  startHarness,
  storeCalls,
} from './support.ts';

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
});
afterAll(() => harness.close());

const CHANNEL = 'cafebazaar' as const;

const journal = async (token: string): Promise<string | undefined> => {
  const attempt = await harness.database
    .collection('store_purchase_attempts')
    .findOne({ purchase_token: token });
  return attempt === null ? undefined : `${attempt.channel}: ${attempt.state}`;
};

describe.each(CHANNEL_NAMES)('%s', (channel: ChannelName) => {
  let send: Send;
  let service: Awaited<ReturnType<Harness['replica']>>['service'];
  beforeAll(async () => {
    ({ send, service } = await harness.replica({ STORE_CHANNEL: channel }));
  });

  const present = (token: string, fields = {}, as = newUser()) =>
    redeem(send, as, token, { channel, ...fields });

  test.each(channel === CHANNEL ? ['premium_plus', 'boost_basic', 'boost_pro'] : ['premium_plus'])(
    'a %s purchase is granted and consumed, and its replay does not call the store',
    async (sku) => {
      const user = newUser();
      const gymId = newId();
      harness.targets.gyms.set(gymId, { user_id: user.userId, is_active: true });
      const token = newToken();
      await putPurchase(harness, token, 'purchased', sku);
      const fields = { product_id: sku, boostable_type: 'gym', boostable_id: gymId };
      const granted = await present(token, fields, user);
      expect(granted.status).toBe(201);
      await service.idle();
      expect(await journal(token)).toBe(`${channel}: granted`);
      expect(await isConsumed(harness, token, sku)).toBe(true);
      expect(await count(harness, 'store_purchases', { purchase_token: token, channel })).toBe(1);
      const calls = await storeCalls(harness, token);
      const again = await present(token, fields, user);
      expect([again.status, again.body]).toEqual([200, granted.body]);
      expect(await storeCalls(harness, token)).toBe(calls);
    },
  );

  test('an unknown purchase or another product is not confirmed, and its attempt is closed', async () => {
    const [unknown, other] = [newToken(), newToken()];
    await putPurchase(harness, other, 'purchased', 'boost_pro');
    for (const token of [unknown, other]) {
      const answer = await present(token);
      expect([answer.status, answer.body.code]).toEqual([400, 'store_purchase.verification_failed']);
      expect(await journal(token)).toBe(`${channel}: closed`);
    }
  });

  test.each([...CHANNEL_NAMES.filter((name) => name !== channel), 'direct', 'Direct', ''])(
    'a purchase from the channel %j is not accepted',
    async (other) => {
      const answer = await present(newToken(), { channel: other });
      expect([answer.status, Object.keys(answer.body.errors)]).toEqual([422, ['channel']]);
    },
  );
});

describe('a store and its response', () => {
  test.each(['canceled', 'refunded', 'pending'] as const)(
    'a %s purchase is not confirmed, and its attempt is closed',
    async (state) => {
      const token = newToken();
      await putPurchase(harness, token, state);
      const answer = await redeem(harness.send, newUser(), token);
      expect([answer.status, answer.body.code]).toEqual([400, 'store_purchase.verification_failed']);
      expect(await journal(token)).toBe(`${CHANNEL}: closed`);
    },
  );

  test('an unreadable body confirms nothing, and the attempt stays open', async () => {
    const token = newToken();
    await putPurchase(harness, token, 'garbage');
    const answer = await redeem(harness.send, newUser(), token);
    expect([answer.status, answer.body.code]).toEqual([400, 'store_purchase.verification_failed']);
    expect(await journal(token)).toBe(`${CHANNEL}: open`);
  });

  test.each(['unreachable', 'slow'] as const)(
    'a store that is %s causes a provider error, and the attempt stays open',
    async (state) => {
      const token = newToken();
      await putPurchase(harness, token, state);
      const impatient = await harness.replica({
        STORE_CHANNEL: CHANNEL,
        STORE_TIMEOUT_MS: SHORT_STORE_TIMEOUT_MS,
      });
      const answer = await redeem(impatient.send, newUser(), token);
      expect([answer.status, answer.body]).toEqual([
        500,
        { error: expect.any(String), code: 'payments.provider_error' },
      ]);
      expect(await journal(token)).toBe(`${CHANNEL}: open`);
      // Otherwise the rounds of other tests would verify it too, with a long timeout.
      await putPurchase(harness, token, 'canceled');
    },
  );

  describe('the response of a misbehaving store', () => {
    let store: Awaited<ReturnType<typeof storeThat>>;
    let behave: Behavior;
    let client: Send;
    const at = (url: string) => ({ STORE_CHANNEL: CHANNEL, ...productEnvironment(url) });
    beforeAll(async () => {
      store = await storeThat((response, socket) => behave(response, socket));
      ({ send: client } = await harness.replica(at(store.url)));
    });
    afterAll(() => store.close());

    const failed = [500, 'payments.provider_error'] as const;
    const unconfirmed = [400, 'store_purchase.verification_failed'] as const;

    test.each<[string, Behavior, readonly [number, string]]>([
      ['500', say(500, '{}'), failed],
      ['503 with a purchase', say(503, '{"purchaseState":0}'), failed],
      ['429', say(429, '{}'), failed],
      ['401', say(401, '{}'), failed],
      ['403', say(403, '<html>'), failed],
      ['a connection that is closed', (_response, socket) => void socket.destroy(), failed],
      ['200 with an HTML page', say(200, '<html>', { 'content-type': 'text/html' }), unconfirmed],
      ['200 without a body', say(200, ''), unconfirmed],
      ['200 with other JSON', say(200, '{"purchaseState":"0"}'), unconfirmed],
      ['200 with half a purchase', say(200, '{"purchaseState":0'), unconfirmed],
      ['404 of a proxy', say(404, '<html>'), unconfirmed],
    ])('the attempt stays open after the store response: %s', async (_name, behavior, [status, code]) => {
      behave = behavior;
      const [token, user] = [newToken(), newUser()];
      const answer = await redeem(client, user, token);
      expect([answer.status, answer.body]).toEqual([status, { error: expect.any(String), code }]);
      expect(await journal(token)).toBe(`${CHANNEL}: open`);
      expect(await count(harness, 'subscriptions', { user_id: user.userId })).toBe(0);
    });

    test('a refused connection causes a provider error, and the attempt stays open', async () => {
      const token = newToken();
      const refusing = await harness.replica(at('http://127.0.0.1:1'));
      const answer = await redeem(refusing.send, newUser(), token);
      expect([answer.status, answer.body.code]).toEqual([...failed]);
      expect(await journal(token)).toBe(`${CHANNEL}: open`);
    });
  });
});

test('the same token at two stores identifies two purchases', async () => {
  const other = await harness.replica({ STORE_CHANNEL: 'myket' });
  const token = newToken();
  await putPurchase(harness, token);
  expect((await redeem(harness.send, newUser(), token)).status).toBe(201);
  expect((await redeem(other.send, newUser(), token, { channel: 'myket' })).status).toBe(201);
});
