/** Premium redemptions through the gateway. The store (the sandbox) answers immediately. */
import { randomUUID } from 'node:crypto';
import { type Account, api, expectStatus, register, sandbox } from '../test/e2e/support.ts';
import { ROUNDS } from './config.ts';
import { CONNECTIONS } from './load.ts';
import { measure, race, runCalls, type Work } from './measure.ts';
import { report } from './report.ts';

const PER_ROUND = 200;
/** A user can have only one active subscription, so each redemption needs a new buyer. The first round is a warm-up. */
const BUYERS = (ROUNDS + 1) * PER_ROUND;

const orders: { buyer: Account; token: string }[] = [];
await measure(BUYERS, 8, async () => {
  const order = { buyer: await register(), token: `bench-${randomUUID()}` };
  await sandbox('PUT', `/store/purchases/${order.token}`, { product_id: 'premium_plus', state: 'purchased' });
  orders.push(order);
});

let next = 0;
const redeem = async (): Promise<void> => {
  const { buyer, token } = orders[next++]!;
  const body = { channel: 'cafebazaar', product_id: 'premium_plus', purchase_token: token };
  expectStatus(await api('POST', '/payments/store-purchases', { token: buyer.token, body }), 201);
};

const work: Work = { name: 'redemption', run: () => runCalls(PER_ROUND, CONNECTIONS, redeem) };
report([await race(work)]);
process.exit();
