/** The table of contract 7, row by row, for every store: what its answer means to the client and to the journal. */
import type { Send } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { CHANNEL_NAMES, type ChannelName } from '../src/channels/index.ts';
import { type Behaviour, say, storeThat } from './misbehaving-store.ts';
import {
  count,
  IMPATIENT_MS,
  isConsumed,
  newId,
  newToken,
  newUser,
  putPurchase,
  redeem,
  startWorld,
  storeCalls,
  type World,
} from './support.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world.close());

const REFUSED_CREDENTIALS = {
  CAFEBAZAAR_API_SECRET: 'invalid',
  MYKET_ACCESS_TOKEN: 'invalid',
  GOOGLE_PLAY_CLIENT_EMAIL: 'invalid@example.com',
};

describe.each(CHANNEL_NAMES)('%s', (channel: ChannelName) => {
  let send: Send;
  let service: Awaited<ReturnType<World['replica']>>['service'];
  beforeAll(async () => {
    ({ send, service } = await world.replica({ STORE_CHANNEL: channel }));
  });

  const present = (token: string, fields = {}, as = newUser(), door = send) =>
    redeem(door, as, token, { channel, ...fields });
  const journal = async (token: string): Promise<string | undefined> => {
    const found = await world.database
      .collection('store_purchase_attempts')
      .findOne({ purchase_token: token });
    return found === null ? undefined : `${found.channel}: ${found.state}`;
  };

  test.each([['premium_plus'], ['boost_basic'], ['boost_pro']])(
    'purchased, %s: granted, and the store is told; presented again: a replay without a question',
    async (sku) => {
      const user = newUser();
      const gymId = newId();
      world.targets.gyms.set(gymId, { user_id: user.userId, is_active: true });
      const token = newToken();
      await putPurchase(world, token, 'purchased', sku);
      const fields = { product_id: sku, boostable_type: 'gym', boostable_id: gymId };
      const granted = await present(token, fields, user);
      expect(granted.status).toBe(201);
      await service.idle();
      expect(await journal(token)).toBe(`${channel}: granted`);
      expect(await isConsumed(world, token, sku)).toBe(true);
      expect(await count(world, 'store_purchases', { purchase_token: token, channel })).toBe(1);
      const calls = await storeCalls(world, token);
      const again = await present(token, fields, user);
      expect([again.status, again.body]).toEqual([200, granted.body]);
      expect(await storeCalls(world, token)).toBe(calls);
    },
  );

  test.each(['canceled', 'refunded', 'pending'] as const)('%s: not confirmed, closed', async (state) => {
    const token = newToken();
    await putPurchase(world, token, state);
    const answer = await present(token);
    expect([answer.status, answer.body.code]).toEqual([400, 'store_purchase.verification_failed']);
    expect(await journal(token)).toBe(`${channel}: closed`);
  });

  test('no such purchase, and another product: not confirmed, closed', async () => {
    const [unknown, other] = [newToken(), newToken()];
    await putPurchase(world, other, 'purchased', 'boost_pro');
    for (const token of [unknown, other]) {
      const answer = await present(token);
      expect([answer.status, answer.body.code]).toEqual([400, 'store_purchase.verification_failed']);
      expect(await journal(token)).toBe(`${channel}: closed`);
    }
  });

  test('an unreadable body: not confirmed, open', async () => {
    const token = newToken();
    await putPurchase(world, token, 'garbage');
    const answer = await present(token);
    expect([answer.status, answer.body.code]).toEqual([400, 'store_purchase.verification_failed']);
    expect(await journal(token)).toBe(`${channel}: open`);
  });

  test.each(['unreachable', 'slow'] as const)('%s: a provider error, open', async (state) => {
    const token = newToken();
    await putPurchase(world, token, state);
    const hasty = await world.replica({ STORE_CHANNEL: channel, STORE_TIMEOUT_MS: IMPATIENT_MS });
    const answer = await present(token, {}, newUser(), hasty.send);
    expect([answer.status, answer.body]).toEqual([
      500,
      { error: expect.any(String), code: 'payments.provider_error' },
    ]);
    expect(await journal(token)).toBe(`${channel}: open`);
    // The rounds of other tests ask about it too, and are patient.
    await putPurchase(world, token, 'canceled');
  });

  describe('the answer of a store on a bad day', () => {
    let store: Awaited<ReturnType<typeof storeThat>>;
    let behave: Behaviour;
    let door: Send;
    const at = (url: string) => ({
      STORE_CHANNEL: channel,
      CAFEBAZAAR_BASE_URL: url,
      MYKET_BASE_URL: url,
      GOOGLE_PLAY_BASE_URL: url,
      GOOGLE_PLAY_TOKEN_URL: `${url}/google-play/token`,
    });
    beforeAll(async () => {
      store = await storeThat((response, socket) => behave(response, socket));
      ({ send: door } = await world.replica(at(store.url)));
    });
    afterAll(() => store.close());

    const failed = [500, 'payments.provider_error'] as const;
    const unconfirmed = [400, 'store_purchase.verification_failed'] as const;

    test.each<[string, Behaviour, readonly [number, string]]>([
      ['500', say(500, '{}'), failed],
      ['503 with a purchase', say(503, '{"purchaseState":0}'), failed],
      ['429', say(429, '{}'), failed],
      ['401', say(401, '{}'), failed],
      ['403', say(403, '<html>'), failed],
      ['a connection that is cut', (_response, socket) => void socket.destroy(), failed],
      ['200 with a page', say(200, '<html>', { 'content-type': 'text/html' }), unconfirmed],
      ['200 with nothing', say(200, ''), unconfirmed],
      ['200 with other JSON', say(200, '{"purchaseState":"0"}'), unconfirmed],
      ['200 with half of it', say(200, '{"purchaseState":0'), unconfirmed],
      ['404 of a proxy', say(404, '<html>'), unconfirmed],
    ])('%s: open', async (_name, behaviour, told) => {
      behave = behaviour;
      const [token, user] = [newToken(), newUser()];
      const answer = await present(token, {}, user, door);
      expect([answer.status, answer.body]).toEqual([told[0], { error: expect.any(String), code: told[1] }]);
      expect(await journal(token)).toBe(`${channel}: open`);
      expect(await count(world, 'subscriptions', { user_id: user.userId })).toBe(0);
    });

    test('none, for its connections are refused: a provider error, open', async () => {
      const token = newToken();
      const refusing = await world.replica(at('http://127.0.0.1:1'));
      const answer = await present(token, {}, newUser(), refusing.send);
      expect([answer.status, answer.body.code]).toEqual([...failed]);
      expect(await journal(token)).toBe(`${channel}: open`);
    });
  });

  test('our credentials refused: a provider error, open, and granted once they are right', async () => {
    const wrong = await world.replica({ STORE_CHANNEL: channel, ...REFUSED_CREDENTIALS });
    const [token, user] = [newToken(), newUser()];
    await putPurchase(world, token);
    const answer = await present(token, {}, user, wrong.send);
    expect([answer.status, answer.body.code]).toEqual([500, 'payments.provider_error']);
    expect(await journal(token)).toBe(`${channel}: open`);
    world.clock.advance(20_000);
    await service.rounds.verifyAttempts();
    expect(await journal(token)).toBe(`${channel}: granted`);
    expect((await present(token, {}, user)).status).toBe(200);
  });

  test.each([...CHANNEL_NAMES.filter((name) => name !== channel), 'direct', 'Direct', ''])(
    'a purchase of %j is not accepted',
    async (other) => {
      const answer = await present(newToken(), { channel: other });
      expect([answer.status, Object.keys(answer.body.errors)]).toEqual([422, ['channel']]);
    },
  );

  test('one token at two stores is two purchases', async () => {
    const token = newToken();
    await putPurchase(world, token);
    expect((await present(token)).status).toBe(201);
    const elsewhere = channel === 'myket' ? 'google_play' : 'myket';
    const other = await world.replica({ STORE_CHANNEL: elsewhere });
    expect((await present(token, { channel: elsewhere }, newUser(), other.send)).status).toBe(201);
  });
});
