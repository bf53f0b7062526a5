/**
 * Compares premium redemptions through the gateway with their transaction alone: the same statements and indexes, sent by the
 * driver. The store (the sandbox) answers immediately.
 */
import { randomUUID } from 'node:crypto';
import { systemClock } from '@fitness/shared/kernel/clock.ts';
import { connectMongo } from '@fitness/shared/mongo/connect.ts';
import { type Account, api, expectStatus, register, sandbox, stack } from '../test/e2e/support.ts';
import { ROUNDS } from './config.ts';
import { measure, runCalls } from './figures.ts';
import { CONNECTIONS } from './load.ts';
import { race, type Work } from './race.ts';
import { report } from './report.ts';

const PER_ROUND = 200;
/** A user can have only one active subscription, so each redemption needs a new buyer. The first round is a warm-up. */
const BUYERS = (ROUNDS + 1) * PER_ROUND;
const MONTH_MS = 31 * 24 * 60 * 60 * 1_000;

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

const DATABASE = 'bench_redemption_limit';
const connection = await connectMongo({
  uri: stack().describe().servers.MONGODB_URI,
  database: DATABASE,
  maxPoolSize: 50,
});
// The same driver as the service, without mongoose models.
const mongo = connection.getClient();
const database = mongo.db(DATABASE);
await database.dropDatabase();
const attempts = database.collection<Record<string, unknown> & { _id: string }>('attempts');
const receipts = database.collection<Record<string, unknown> & { _id: string }>('receipts');
const slots = database.collection<Record<string, unknown> & { _id: string }>('slots');
const subscriptions = database.collection<Record<string, unknown> & { _id: number }>('subscriptions');
const outbox = database.collection<Record<string, unknown> & { _id: number }>('outbox');
const isNumber = { $type: 'number' };
await attempts.createIndex({ next_check_at: 1 });
await receipts.createIndex({ channel: 1, purchase_token: 1 }, { unique: true });
for (const grant of ['user_premium_subscription_id', 'marketing_boost_id'])
  await receipts.createIndex(
    { [grant]: 1 },
    { unique: true, partialFilterExpression: { [grant]: isNumber } },
  );
await receipts.createIndex({ acknowledge_due_at: 1 });
await receipts.createIndex({ look_due_at: 1 });
await subscriptions.createIndex({ user_id: 1, expires_at: 1 });

/** The attempt as stored after the store's response. */
const journal = async (index: number): Promise<void> => {
  const at = systemClock.now();
  const attempt = { purchase_token: `token-${index}`, user_id: index, state: 'open', reason: null, tries: 0 };
  await attempts.insertOne({ _id: `attempt-${index}`, ...attempt, next_check_at: at, updated_at: at });
};

/** Runs the transaction of a redemption. */
const commit = async (index: number): Promise<void> => {
  const at = systemClock.now();
  const until = new Date(at.getTime() + MONTH_MS);
  const token = { channel: 'cafebazaar', purchase_token: `token-${index}`, product_id: 'premium_plus' };
  const grants = { user_premium_subscription_id: index, marketing_boost_id: null };
  const due = { acknowledge_due_at: at, acknowledged_at: null, look_due_at: at, grant_ended_at: null };
  const body = JSON.stringify({ id: randomUUID(), time: at, data: { ...token, user_id: index } });
  const event = { aggregate: `receipt-${index}`, aggregateVersion: 1, body, occurredAt: at };
  await mongo.withSession((session) =>
    session.withTransaction(
      async () => {
        const granted = { $set: { state: 'granted', next_check_at: null, updated_at: at } };
        const open = { _id: `attempt-${index}`, state: { $ne: 'granted' } };
        await attempts.updateOne(open, granted, { session });
        const receipt = { ...token, ...grants, ...due, user_id: index, number: index, created_at: at };
        await receipts.insertOne({ _id: `cafebazaar:${token.purchase_token}`, ...receipt }, { session });
        const slot = { active_until: until, grant_id: index, reserved_by: null, closed: false, version: 1 };
        await slots.insertOne({ _id: `premium:${index}`, ...slot }, { session });
        const span = { starts_at: at, expires_at: until, created_at: at };
        const subscription = { user_id: index, type: 'plus', source: 'cafebazaar', version: 1, ...span };
        await subscriptions.insertOne({ _id: index, ...subscription }, { session });
        const events = [2 * index, 2 * index + 1].map((_id) => ({ _id, type: 'granted', ...event }));
        await outbox.insertMany(events, { session });
      },
      { readConcern: { level: 'snapshot' }, writeConcern: { w: 'majority' } },
    ),
  );
};

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
report([await race(work)], []);
process.exit();
