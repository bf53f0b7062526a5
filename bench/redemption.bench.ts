/**
 * Compares premium redemptions through the gateway with their transaction alone: the same statements and indexes, sent by the
 * driver. The store (the sandbox) answers immediately.
 */
import { randomUUID } from 'node:crypto';
import { MINUTE_MS, systemClock } from '@fitness/shared/kernel/clock.ts';
import { ensureIndexes } from '@fitness/shared/mongo/indexes.ts';
import { registerModels } from '../services/store-billing/src/store/models.ts';
import { type Account, api, expectStatus, register, sandbox } from '../test/e2e/support.ts';
import { ROUNDS } from './config.ts';
import { CONNECTIONS } from './load.ts';
import { measure, race, runCalls, type Work } from './measure.ts';
import { openPeerDatabase } from './product.ts';
import { report } from './report.ts';

const PER_ROUND = 200;
/** A user can have only one active subscription, so each redemption needs a new buyer. The first round is a warm-up. */
const BUYERS = (ROUNDS + 1) * PER_ROUND;

interface Order {
  buyer: Account;
  token: string;
}

const orders: Order[] = [];
await measure(BUYERS, 8, async () => {
  const order = { buyer: await register(), token: `bench-${randomUUID()}` };
  await sandbox('PUT', `/store/purchases/${order.token}`, { product_id: 'premium_plus', state: 'purchased' });
  orders.push(order);
});

const redeem = async ({ buyer, token }: Order): Promise<void> => {
  const body = { channel: 'cafebazaar', product_id: 'premium_plus', purchase_token: token };
  expectStatus(await api('POST', '/payments/store-purchases', { token: buyer.token, body }), 201);
};

const { connection, transaction } = await openPeerDatabase('bench_redemption_limit');
const models = registerModels(connection);
await ensureIndexes(connection);
const outbox = connection.collection('outbox');
const at = systemClock.now();
const until = new Date(at.getTime() + 31 * 24 * 60 * MINUTE_MS);
const tokenOf = (index: number) => ({
  channel: 'cafebazaar',
  purchase_token: `token-${index}`,
  product_id: 'premium_plus',
  user_id: index,
});

/** The attempt as stored after the store's response. */
const journal = async (index: number): Promise<void> => {
  const attempt = { ...tokenOf(index), state: 'open', reason: null, tries: 0 };
  const document = { _id: `attempt-${index}`, ...attempt, next_check_at: at, updated_at: at };
  await models.attempts.collection.insertOne(document as never);
};

/** Runs the transaction of a redemption. */
const commit = (index: number): Promise<void> =>
  transaction(async (session) => {
    const { attempts, storePurchases, slots, subscriptions } = models;
    const granted = { $set: { state: 'granted', next_check_at: null, updated_at: at } };
    const open = { _id: `attempt-${index}`, state: { $ne: 'granted' } };
    await attempts.collection.updateOne(open as never, granted, { session });
    const grants = { user_premium_subscription_id: index, marketing_boost_id: null };
    const due = { acknowledge_due_at: at, acknowledged_at: null, look_due_at: at, grant_ended_at: null };
    const receipt = { _id: `cafebazaar:token-${index}`, ...tokenOf(index), ...grants, ...due, number: index };
    await storePurchases.collection.insertOne({ ...receipt, created_at: at } as never, { session });
    const slot = { active_until: until, grant_id: index, reserved_by: null, closed: false, version: 1 };
    await slots.collection.insertOne({ _id: `premium:${index}`, ...slot } as never, { session });
    const span = { starts_at: at, expires_at: until, created_at: at };
    const subscription = { user_id: index, type: 'plus', source: 'cafebazaar', version: 1, ...span };
    await subscriptions.collection.insertOne({ _id: index, ...subscription } as never, { session });
    const body = JSON.stringify({ id: randomUUID(), time: at, data: tokenOf(index) });
    const event = { aggregate: `receipt-${index}`, aggregateVersion: 1, body, occurredAt: at };
    const events = [2 * index, 2 * index + 1].map((_id) => ({ _id, type: 'granted', ...event }));
    await outbox.insertMany(events as never[], { session });
  });

/** Each run takes the next numbers. */
const runs = (work: (index: number) => Promise<void>) => {
  let first = -PER_ROUND;
  return () => {
    first += PER_ROUND;
    return runCalls(PER_ROUND, CONNECTIONS, (index) => work(first + index));
  };
};
// The attempts are written in advance: only the transaction is measured.
await measure(BUYERS, CONNECTIONS, journal);
const work: Work = {
  name: 'redemption',
  run: runs((index) => redeem(orders[index] as Order)),
  peer: { name: 'its transaction alone', run: runs(commit) },
};
report([await race(work)]);
process.exit();
