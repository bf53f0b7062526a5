/** The limits of a user's orders at the bank gateway: it never opens one too many, whatever is requested at once. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { DAY_MS, MINUTE_MS } from '@fitness/shared/kernel/clock.ts';
import { apiClient, type Send } from '@fitness/shared/testing/harness.ts';
import { ManualClock } from '@fitness/shared/testing/manual-clock.ts';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { decided, type Harness, startHarness, together } from './support.ts';

const clock = new ManualClock();
let harness: Harness;
let sends: readonly Send[];
let gateway: Server;
/** Orders that the gateway has opened. */
let orders = 0;
/** What it answers to an order. `hangs up`: it opens the order, and the response is lost. */
let mode: 'opens' | 'refuses' | 'above ceiling' | 'hangs up' = 'opens';
const RESULTS = { opens: 100, refuses: 104, 'above ceiling': 113 } as const;

beforeAll(async () => {
  gateway = createServer((request, response) => {
    const answer = (body: object) =>
      response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
    // Every payer cancels.
    if (!request.url?.endsWith('/request')) return answer({ result: 202, status: 3 });
    if (mode === 'opens' || mode === 'hangs up') orders += 1;
    if (mode === 'hangs up') return response.destroy();
    return answer({ result: RESULTS[mode], trackId: 1_000 + orders });
  });
  await new Promise<void>((resolve) => gateway.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(gateway.address() as AddressInfo).port}`;
  harness = await startHarness({ ZIBAL_BASE_URL: url }, { clock });
  sends = [harness.send, apiClient('wallet', (await harness.replica()).url)];
});
beforeEach(() => {
  mode = 'opens';
});
afterAll(async () => {
  await harness.close();
  await new Promise((resolve) => gateway.close(resolve));
});

const ask = (as: UserCaller, index = 0, headers = {}) =>
  (sends[index % 2] ?? harness.send)('POST', '/payments/deposit', { as, headers, body: { amount: 20_000 } });

/** Requests at once to two processes. Returns how many orders the gateway opened. */
const burst = async (as: UserCaller, count: number): Promise<number> => {
  const before = orders;
  const answers = await together(count, (index) => decided(() => ask(as, index)));
  expect(answers.filter(({ status }) => status !== 201 && status !== 422)).toEqual([]);
  return orders - before;
};

const cancelAll = async (as: UserCaller): Promise<void> => {
  const open = { user_id: as.userId, 'gateway.state': 'open' };
  for (const { gateway: stored } of await harness.connection.collection('payments').find(open).toArray()) {
    const path = `/payments/deposit/callback?trackId=${stored.track_id}&orderId=${stored.order_id}`;
    expect((await harness.send('GET', path)).body.payment.is_done).toBe(false);
  }
};

test('sixty concurrent requests to two processes open exactly ten orders', async () => {
  expect(await burst(harness.person(), 60)).toBe(10);
});

test('a user opens exactly fifty orders in 24 hours, even if every one is cancelled', async () => {
  const as = harness.person();
  for (let round = 0; round < 5; round += 1) {
    expect(await burst(as, round === 4 ? 60 : 15)).toBe(10);
    await cancelAll(as);
  }
  expect(await burst(as, 60)).toBe(0);
  const refused = await ask(as);
  expect([refused.status, refused.body.errors]).toEqual([
    422,
    { amount: ['You have started 50 deposits within 24 hours. Try again later.'] },
  ]);
  expect((await ask(harness.person())).status).toBe(201);
  clock.advance(DAY_MS - 1);
  expect(await burst(as, 2)).toBe(0);
  clock.advance(1);
  expect(await burst(as, 60)).toBe(10);
});

test.each(['refuses', 'above ceiling'] as const)(
  'an order does not count when the gateway %s',
  async (refusal) => {
    const as = harness.person();
    mode = refusal;
    for (let attempt = 0; attempt < 55; attempt += 1)
      expect((await ask(as)).status).toBe(refusal === 'refuses' ? 500 : 422);
    mode = 'opens';
    expect(await burst(as, 15)).toBe(10);
  },
);

test('an order with an unknown outcome counts, because the gateway may have opened it', async () => {
  const as = harness.person();
  mode = 'hangs up';
  const before = orders;
  // The circuit breaker of the gateway may refuse some of them.
  for (let attempt = 0; attempt < 10; attempt += 1) expect((await ask(as)).status).toBe(500);
  mode = 'opens';
  const opened = orders - before;
  expect(await burst(as, 15)).toBe(10 - opened);
  clock.advance(30 * MINUTE_MS);
  expect(await burst(as, 15)).toBe(10);
});

test('an order does not count when the gateway received nothing: refused connections, then an open breaker', async () => {
  const as = harness.person();
  const { port } = gateway.address() as AddressInfo;
  const fresh = apiClient('wallet', (await harness.replica()).url);
  gateway.closeAllConnections();
  await new Promise((resolve) => gateway.close(resolve));
  for (let attempt = 0; attempt < 55; attempt += 1)
    expect((await fresh('POST', '/payments/deposit', { as, body: { amount: 20_000 } })).status).toBe(500);
  await new Promise<void>((resolve) => gateway.listen(port, '127.0.0.1', resolve));
  expect(await burst(as, 15)).toBe(10);
});

test('repeats of an Idempotency-Key do not count', async () => {
  const as = harness.person();
  const headers = { 'idempotency-key': `order-${as.userId}` };
  const first = await ask(as, 0, headers);
  for (let repeat = 0; repeat < 60; repeat += 1)
    expect((await ask(as, repeat, headers)).text).toBe(first.text);
  expect(await burst(as, 15)).toBe(9);
});
