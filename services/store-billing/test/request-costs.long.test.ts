/** The maximum cost of a request to each route in a warm process: database commands, and calls to other services. */
import { randomUUID } from 'node:crypto';
import { caller } from '@fitness/shared/testing/harness.ts';
import { expectByRecipe } from '@fitness/shared/testing/recipe.ts';
import { openCostMeter, type RouteCost, routesWithCosts } from '@fitness/shared/testing/request-costs.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { SHARDS } from './shards.ts';
import {
  type Harness,
  newId,
  newToken,
  newUser,
  PREMIUM,
  putPurchase,
  redeem,
  startHarness,
} from './support.ts';

const member = caller(900_000);
const operator = caller(900_001, [
  'payments.view_own',
  'payments.view_all',
  'payments.boost_all',
  'payments.resolve_disputes',
]);

let harness: Harness;
let meter: Awaited<ReturnType<typeof openCostMeter>>;

/** A purchase that was paid while another subscription runs. */
const dueRefund = async (): Promise<number> => {
  const user = newUser();
  const [running, token] = [newToken(), newToken()];
  await Promise.all([putPurchase(harness, running), putPurchase(harness, token)]);
  await redeem(harness.send, user, running);
  await redeem(harness.send, user, token);
  harness.clock.advance(20_000);
  await harness.service.rounds.verifyAttempts();
  const due = await harness.database.collection('refund_queue').findOne({ user_id: user.userId });
  await harness.service.idle();
  return Number(due?._id);
};

beforeAll(async () => {
  harness = await startHarness({}, '2126-01-15T10:00:00Z', { monitored: true });
  for (let index = 0; index < 5; index += 1) await dueRefund();
  const target = { send: harness.send, url: harness.service.url };
  meter = await openCostMeter(harness.config.MONGODB_DATABASE, target, SHARDS);
});
afterAll(() => harness.close());

const newGym = (ownerId: number): number => {
  const id = newId();
  harness.targets.gyms.set(id, { user_id: ownerId, is_active: true });
  return id;
};
const newBuyer = () => {
  const as = newUser();
  harness.wallet.balances.set(as.userId, 10 * PREMIUM);
  return as;
};
const boost = (as = newBuyer(), gymOwner = as.userId) => {
  harness.wallet.balances.set(as.userId, 10 * PREMIUM);
  return { as, body: { boostable_type: 'gym', boostable_id: newGym(gymOwner), level: 'basic' } };
};
const redemption = async (as: ReturnType<typeof newUser>, fields: Record<string, unknown>) => {
  const purchase_token = newToken();
  await putPurchase(harness, purchase_token, 'purchased', String(fields.product_id));
  return { as, body: { channel: 'cafebazaar', purchase_token, ...fields } };
};
const boostRedemption = (as: ReturnType<typeof newUser>, gymOwner = as.userId) =>
  redemption(as, { product_id: 'boost_pro', boostable_type: 'gym', boostable_id: newGym(gymOwner) });
const key = () => ({ headers: { 'idempotency-key': randomUUID() } });

const ROWS: RouteCost[] = [
  {
    route: 'POST /payments/store-purchases (a subscription)',
    as: member,
    commands: 13,
    request: () => redemption(newUser(), { product_id: 'premium_plus' }),
  },
  {
    route: 'POST /payments/store-purchases (a boost)',
    as: member,
    commands: 13,
    calls: ['GetGyms'],
    request: () => boostRedemption(newUser()),
  },
  {
    route: 'POST /payments/store-purchases (a boost by an operator)',
    as: operator,
    commands: 15,
    calls: ['GetGyms'],
    request: () => boostRedemption({ ...operator, userId: newId() }, newId()),
  },
  { route: 'GET /payments/store-purchases/refund-queue', as: operator, commands: 2 },
  { route: 'GET /payments/store-purchases/refund-queue?page=2&per_page=2', as: operator, commands: 2 },
  {
    route: 'POST /payments/store-purchases/refund-queue/:id/resolve',
    as: operator,
    commands: 12,
    request: async () => ({
      path: `/payments/store-purchases/refund-queue/${await dueRefund()}/resolve`,
      body: { outcome: 'refunded', note: 'By phone' },
    }),
  },
  {
    route: 'POST /payments/buy-premium',
    as: member,
    commands: 13,
    calls: ['Book'],
    request: () => ({ as: newBuyer(), body: { type: 'plus' } }),
  },
  {
    route: 'POST /payments/buy-premium (with a key)',
    as: member,
    commands: 17,
    calls: ['Book'],
    request: () => ({ as: newBuyer(), body: { type: 'plus' }, ...key() }),
  },
  {
    route: 'POST /payments/boost',
    as: member,
    commands: 13,
    calls: ['Book', 'GetGyms'],
    request: () => boost(),
  },
  {
    route: 'POST /payments/boost (with a key)',
    as: member,
    commands: 17,
    calls: ['Book', 'GetGyms'],
    request: () => ({ ...boost(), ...key() }),
  },
  {
    route: 'POST /payments/boost (by an operator)',
    as: operator,
    commands: 15,
    calls: ['Book', 'GetGyms'],
    request: () => boost({ ...operator, userId: newId() }, newId()),
  },
];

test('every route has a row with its cost', async () => {
  expectByRecipe('endpoint', routesWithCosts(ROWS), await meter.routes());
});

test.each(ROWS)('$route as $as.kind costs $commands commands', async (row) => {
  expect(await meter.faults(row)).toEqual([]);
});

test('no request continues after its response', () => {
  expect(meter.late()).toEqual([]);
});

test('every command that is sent to all shards is listed', () => {
  expectByRecipe('list-filter', meter.shardFaults());
});
