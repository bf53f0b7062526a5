/** What the release before has stored: receipts stay receipts, open attempts are verified, debts stay debts. */
import { HOUR_MS } from '@fitness/shared/clock.ts';
import { caller, type Send } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { RunningStoreBilling } from '../src/service.ts';
import {
  count,
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
let upgraded: { service: RunningStoreBilling; send: Send };
const owner = newUser();
const waiting = newUser();
const owedTo = newUser();
const tokens = { redeemed: newToken(), open: newToken(), first: newToken(), owed: newToken() };
let granted: unknown;

interface Receipt {
  _id: unknown;
  number: number;
}

/** The form in which that release has stored what is there now. */
const makeOld = async (): Promise<void> => {
  const { database } = world;
  const receipts = database.collection<Receipt>('store_purchases');
  for (const { number, ...receipt } of await receipts.find().toArray()) {
    await receipts.deleteOne({ _id: receipt._id });
    await receipts.insertOne({ ...receipt, _id: number } as never);
  }
  await database.collection('store_purchase_attempts').updateMany({}, { $set: { revision: 1, owed: false } });
  for (const { _id, attempt_id } of await database.collection('refund_queue').find().toArray())
    await database.collection('refund_queue').updateOne({ _id }, { $set: { owed_for: attempt_id } });
  await database.collection('upgrades').deleteMany({});
};

beforeAll(async () => {
  world = await startWorld();
  await putPurchase(world, tokens.redeemed);
  granted = (await redeem(world.send, owner, tokens.redeemed)).body;
  await putPurchase(world, tokens.open, 'unreachable');
  await redeem(world.send, waiting, tokens.open);
  // Paid at the store while another subscription runs: owed.
  await putPurchase(world, tokens.owed, 'unreachable');
  await redeem(world.send, owedTo, tokens.owed);
  await putPurchase(world, tokens.first);
  await redeem(world.send, owedTo, tokens.first);
  await putPurchase(world, tokens.owed);
  world.clock.advance(60_000);
  await world.service.rounds.verifyAttempts();
  expect(await count(world, 'refund_queue', { purchase_token: tokens.owed, resolved_at: null })).toBe(1);
  await makeOld();
  upgraded = await world.replica();
});
afterAll(() => world.close());

test('a redeemed token is a replay for its owner and unknown to others, and the store is not asked', async () => {
  const asked = await storeCalls(world, tokens.redeemed);
  const replay = await redeem(upgraded.send, owner, tokens.redeemed);
  expect([replay.status, replay.body]).toEqual([200, granted]);
  expect((await redeem(upgraded.send, newUser(), tokens.redeemed)).status).toBe(404);
  expect(await storeCalls(world, tokens.redeemed)).toBe(asked);
  expect(await count(world, 'subscriptions', { user_id: owner.userId })).toBe(1);
});

test('an open attempt is verified and granted', async () => {
  await putPurchase(world, tokens.open, 'purchased');
  world.clock.advance(HOUR_MS);
  await upgraded.service.rounds.verifyAttempts();
  expect(await count(world, 'subscriptions', { user_id: waiting.userId })).toBe(1);
  expect((await redeem(upgraded.send, waiting, tokens.open)).status).toBe(200);
});

test('what is owed is still owed once, and ends when the store has paid it back', async () => {
  const operator = caller(newId(), ['payments.view_all']);
  const queue = async (): Promise<string[]> => {
    const answer = await upgraded.send('GET', '/payments/store-purchases/refund-queue', { as: operator });
    return answer.body.data.map(({ purchase_token }: { purchase_token: string }) => purchase_token);
  };
  expect(await queue()).toEqual([tokens.owed]);
  await putPurchase(world, tokens.owed, 'refunded');
  world.clock.advance(48 * HOUR_MS);
  await upgraded.service.rounds.lookAgain();
  expect(await queue()).toEqual([]);
});
