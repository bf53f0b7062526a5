/**
 * The maximum cost of one request of each route in a warm process: database commands, and calls of other services. The numbers
 * are for MongoDB 8; older versions get the writes of a booking one by one.
 */
import { randomUUID } from 'node:crypto';
import { GUEST, type UserCaller } from '@fitness/shared/kernel/caller.ts';
import { monitored } from '@fitness/shared/testing/commands.ts';
import { caller, testConfig } from '@fitness/shared/testing/harness.ts';
import { expectByRecipe } from '@fitness/shared/testing/recipe.ts';
import { openCostMeter, type RouteCost, routesWithCosts } from '@fitness/shared/testing/request-costs.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { SHARDS } from './shards.ts';
import { atTheBank, type Harness, OPERATOR, startHarness } from './support.ts';

let harness: Harness;
let meter: Awaited<ReturnType<typeof openCostMeter>>;
/** The first person of the harness. */
const member = caller(101);
let payment: number;

const send = async (path: string, as: UserCaller, body: unknown) => {
  const { status, body: answer, text } = await harness.send('POST', path, { as, body });
  if (status !== 201) throw new Error(text);
  return answer;
};
const newDeposit = (as = harness.person()) => send('/payments/deposit', as, { amount: 10_000 });
const newDispute = async (): Promise<number> => {
  const { id } = (await newDeposit()).payment;
  const reported = { amount_rial: 5, order_id: '1', ref_number: null, card_number: null, paid_at: null };
  const fields = { 'gateway.state': 'mismatch', 'gateway.check_at': null, 'gateway.reported': reported };
  await harness.connection.collection('payments').updateOne({ _id: id as never }, { $set: fields });
  return id;
};
const newPayer = async (): Promise<UserCaller> => {
  const as = harness.person();
  await harness.give(as.userId, 50_000);
  return as;
};
const newWithdrawal = async (): Promise<number> =>
  (await send('/payments/withdrawals', await newPayer(), { amount: 4_000 })).payment.id;

beforeAll(async () => {
  harness = await startHarness(monitored({ MONGODB_URI: String(testConfig('wallet').MONGODB_URI) }));
  expect(harness.person().userId).toBe(member.userId);
  for (let index = 0; index < 5; index += 1) {
    payment = await harness.give(member.userId, 1_000);
    await newDispute();
  }
  const target = { send: harness.send, url: harness.wallet.url };
  meter = await openCostMeter(harness.config.MONGODB_DATABASE, target, SHARDS);
});
afterAll(() => harness.close());

const settlement = (verb: string, body: unknown) => async () => ({
  path: `/payments/${await newWithdrawal()}/${verb}`,
  body,
});
const resolution = (outcome: string) => async () => ({
  path: `/payments/${await newDispute()}/resolve`,
  body: { outcome, note: 'By phone' },
});
const callback = (click: 'pay' | 'cancel') => async () => ({
  path: await atTheBank(harness, (await newDeposit()).payment_url, click),
});
const withdrawal = async () => ({ as: await newPayer(), body: { amount: 4_000 } });
const key = () => ({ headers: { 'idempotency-key': randomUUID() } });

const ROWS: RouteCost[] = [
  { route: 'GET /payments', as: member, commands: 2, calls: ['ShowUsers'] },
  { route: 'GET /payments?page=2&per_page=2', as: member, commands: 2, calls: ['ShowUsers'] },
  { route: 'GET /payments (of everybody)', as: OPERATOR, commands: 2, calls: ['ShowUsers'] },
  { route: 'GET /payments/balance', as: member, commands: ['find wallets'] },
  { route: 'GET /payments/prices', as: GUEST, commands: 0, calls: ['GetPrices'] },
  { route: 'GET /payments/prices', as: member, commands: 0, calls: ['GetPrices'] },
  {
    route: 'POST /payments/deposit',
    as: member,
    commands: 6,
    calls: ['ShowUsers'],
    request: async () => ({ as: await newPayer(), body: { amount: 10_000 } }),
  },
  {
    route: 'POST /payments/deposit (the first payment)',
    as: member,
    commands: 10,
    calls: ['ShowUsers'],
    request: () => ({ as: harness.person(), body: { amount: 10_000 } }),
  },
  {
    route: 'POST /payments/deposit (with a key)',
    as: member,
    commands: 9,
    calls: ['ShowUsers'],
    request: async () => ({ as: await newPayer(), body: { amount: 10_000 }, ...key() }),
  },
  {
    route: 'GET /payments/deposit/callback (paid)',
    as: GUEST,
    commands: 8,
    calls: ['ShowUsers'],
    request: callback('pay'),
  },
  {
    route: 'GET /payments/deposit/callback (cancelled)',
    as: GUEST,
    commands: 4,
    calls: ['ShowUsers'],
    request: callback('cancel'),
  },
  { route: 'GET /payments/deposit/disputed', as: OPERATOR, commands: 3, calls: ['ShowUsers'] },
  {
    route: 'GET /payments/deposit/disputed?page=2&per_page=2',
    as: OPERATOR,
    commands: 2,
    calls: ['ShowUsers'],
  },
  {
    route: 'GET /payments/deposit/disputed?user_id=1',
    as: OPERATOR,
    commands: 3,
  },
  { route: 'POST /payments/withdrawals', as: member, commands: 8, calls: ['ShowUsers'], request: withdrawal },
  {
    route: 'POST /payments/withdrawals (with a key)',
    as: member,
    commands: 11,
    calls: ['ShowUsers'],
    request: async () => ({ ...(await withdrawal()), ...key() }),
  },
  {
    route: 'GET /payments/:id',
    as: member,
    commands: 1,
    calls: ['ShowUsers'],
    request: () => ({ path: `/payments/${payment}` }),
  },
  {
    route: 'GET /payments/:id (of another)',
    as: OPERATOR,
    commands: 1,
    calls: ['ShowUsers'],
    request: () => ({ path: `/payments/${payment}` }),
  },
  {
    route: 'POST /payments/:id/pay',
    as: OPERATOR,
    commands: 11,
    calls: ['ShowUsers'],
    request: settlement('pay', {}),
  },
  {
    route: 'POST /payments/:id/reject',
    as: OPERATOR,
    commands: 13,
    calls: ['ShowUsers'],
    request: settlement('reject', { reason: 'Wrong account' }),
  },
  {
    route: 'POST /payments/:id/claim',
    as: OPERATOR,
    commands: 7,
    calls: ['ShowUsers'],
    request: settlement('claim', {}),
  },
  {
    route: 'DELETE /payments/:id/claim',
    as: OPERATOR,
    commands: 3,
    request: settlement('claim', {}),
  },
  {
    route: 'POST /payments/:id/resolve (credited)',
    as: OPERATOR,
    commands: 12,
    calls: ['ShowUsers'],
    request: resolution('credited'),
  },
  {
    route: 'POST /payments/:id/resolve (returned)',
    as: OPERATOR,
    commands: 11,
    calls: ['ShowUsers'],
    request: resolution('returned'),
  },
];

test('every route has a row of costs', async () => {
  expectByRecipe('endpoint', routesWithCosts(ROWS), await meter.routes());
});

test.each(ROWS)('$route as $as.kind costs $commands commands', async (row) => {
  expect(await meter.faults(row)).toEqual([]);
});

test('no request continues after its response', () => {
  expect(meter.late()).toEqual([]);
});

test('no command asks every shard without being listed', () => {
  expectByRecipe('list-filter', meter.shardFaults());
});
