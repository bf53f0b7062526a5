/** A bank gateway with late, repeated, incomplete and contradictory responses. */
import { randomUUID } from 'node:crypto';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { apiClient, eventually } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { eraseAccount, type Harness, OPERATOR, startHarness, together } from './support.ts';

type Answer = object | ((response: ServerResponse) => unknown);

let harness: Harness;
let server: Server;
let track = 5_000;
let answers: Record<string, () => Answer>;

beforeAll(async () => {
  server = createServer(async (request, response) => {
    const call = request.url?.split('/').at(-1) ?? '';
    request.resume();
    const answer = answers[call]?.() ?? {};
    if (typeof answer === 'function') await answer(response);
    else response.setHeader('content-type', 'application/json').end(JSON.stringify(answer));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  harness = await startHarness({
    ZIBAL_BASE_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  });
});

afterAll(async () => {
  await harness.close();
  await new Promise((resolve) => server.close(resolve));
});

beforeEach(() => {
  answers = {
    request: () => {
      track += 1;
      return { result: 100, trackId: track };
    },
  };
});

const paid = (id: number, changes: object = {}) => ({
  result: 100,
  status: 1,
  amount: 101_000,
  orderId: String(id),
  refNumber: 42,
  cardNumber: '6274****44',
  paidAt: '2026-01-15T10:00:00',
  ...changes,
});

const open = async (as = harness.person()): Promise<{ as: UserCaller; id: number; callback: string }> => {
  const { body } = await harness.send('POST', '/payments/deposit', { as, body: { amount: 10_000 } });
  const { id } = body.payment;
  const { track_id: trackId, order_id: orderId } = (await stored(id))?.gateway ?? {};
  return { as, id, callback: `/payments/deposit/callback?trackId=${trackId}&orderId=${orderId}` };
};

const stored = async (id: number) => harness.connection.collection('payments').findOne({ _id: id as never });
const entriesOf = (id: number) =>
  harness.connection.collection('ledger_entries').countDocuments({ payment_ids: id });
const erase = (userId: number): Promise<void> => eraseAccount(harness, userId);

describe('an order', () => {
  test('an order with an invalid track id is payments.provider_error, and nothing is stored', async () => {
    const values = [0, -5, 1.5, 1e21, '', 'abc', '../7', '7?x=1', '1234567890123456', {}, true, null];
    for (const trackId of values) {
      const as = harness.person();
      answers.request = () => ({ result: 100, trackId });
      const { status, body } = await harness.send('POST', '/payments/deposit', {
        as,
        body: { amount: 10_000 },
      });
      expect([trackId, status, body.code]).toEqual([trackId, 500, 'payments.provider_error']);
      expect((await harness.send('GET', '/payments', { as })).body.data).toEqual([]);
    }
  });

  test('an order with another deposit’s track id is payments.provider_error and changes no deposit', async () => {
    const first = await open();
    answers.request = () => ({ result: 100, trackId: track });
    const as = harness.person();
    const { status, body } = await harness.send('POST', '/payments/deposit', {
      as,
      body: { amount: 10_000 },
    });
    expect([status, body.code]).toEqual([500, 'payments.provider_error']);
    answers.verify = () => paid(first.id);
    await harness.send('GET', first.callback);
    expect(await harness.balanceOf(first.as.userId)).toBe(10_000);
    expect(await harness.balanceOf(as.userId)).toBe(0);
  });
});

test('a callback without the order id does not call the gateway', async () => {
  const { as, id, callback } = await open();
  let calls = 0;
  answers.verify = () => {
    calls += 1;
    return paid(id);
  };
  const guess = callback.replace(/&orderId=.*/, '');
  for (const path of [guess, `${guess}&orderId=${id}`, callback.replace(/trackId=\d+/, 'trackId=1')])
    expect((await harness.send('GET', path)).status).toBe(404);
  expect([calls, await harness.balanceOf(as.userId)]).toEqual([0, 0]);
  await harness.send('GET', callback);
  expect([calls, await harness.balanceOf(as.userId)]).toEqual([1, 10_000]);
});

test('a deposit of an older release, whose order id can be guessed, is settled by the sweep', async () => {
  const { as, id, callback } = await open();
  answers.verify = () => paid(id);
  const old = { 'gateway.order_id': String(id), 'gateway.check_at': new Date(0) };
  await harness.connection.collection('payments').updateOne({ _id: id as never }, { $set: old });
  const guess = callback.replace(/orderId=.*/, `orderId=${id}`);
  expect((await harness.send('GET', guess)).status).toBe(404);
  expect(await harness.wallet.sweepDeposits()).toMatchObject({ credited: 1 });
  expect(await harness.balanceOf(as.userId)).toBe(10_000);
});

describe('a verification', () => {
  test.each<[string, Answer]>([
    [
      'ends in the middle',
      (response) => void response.writeHead(200).write('{"result":100,', () => response.destroy()),
    ],
    ['ends without a response', (response) => response.destroy()],
    ['is HTML', (response) => response.setHeader('content-type', 'text/html').end('<html>')],
    ['is a list', []],
    ['has a fraction of a Rial', { result: 100, amount: 101_000.5, orderId: '1' }],
    ['has an invalid order id', { result: 100, amount: 101_000, orderId: { $ne: 1 } }],
  ])('a verification that %s changes nothing, and the next one credits once', async (_what, answer) => {
    const { as, id, callback } = await open();
    answers.verify = () => answer;
    const { status, body } = await harness.send('GET', callback);
    expect([status, body.code]).toEqual([500, 'payments.provider_error']);
    expect(await stored(id)).toMatchObject({ is_done: false, gateway: { state: 'open' } });
    answers.verify = () => paid(id, { amount: '101000', result: '100', refNumber: '' });
    const { payment } = (await harness.send('GET', callback, { as })).body;
    expect(payment).toMatchObject({
      is_done: true,
      description: 'Wallet deposit',
      meta: { ref_number: null },
    });
    expect([await harness.balanceOf(as.userId), await entriesOf(id)]).toEqual([10_000, 1]);
  });

  test.each([{ amount: undefined }, { orderId: undefined }, { amount: null, orderId: null }])(
    'a verification without %j is followed by an inquiry, which decides',
    async (changes) => {
      const { as, id, callback } = await open();
      answers.verify = () => paid(id, changes);
      answers.inquiry = () => paid(id);
      await harness.send('GET', callback);
      expect(await harness.balanceOf(as.userId)).toBe(10_000);
    },
  );

  test.each(['verify', 'inquiry'])(
    'a %s that does not know the track id leaves the deposit open',
    async (call) => {
      const { id, callback } = await open();
      answers.verify = () => ({ result: 201 });
      answers[call] = () => ({ result: 203 });
      const { status, body } = await harness.send('GET', callback);
      expect([status, body.payment?.is_done]).toEqual([200, false]);
      expect(await stored(id)).toMatchObject({ gateway: { state: 'open' } });
      answers.verify = () => paid(id);
      expect((await harness.send('GET', callback)).body.payment.is_done).toBe(true);
    },
  );

  test('an unpaid verification without a status is followed by an inquiry, which decides', async () => {
    const { as, id, callback } = await open();
    answers.verify = () => ({ result: 202 });
    answers.inquiry = () => paid(id);
    await harness.send('GET', callback);
    expect(await harness.balanceOf(as.userId)).toBe(10_000);
  });

  test.each<[string, (id: number) => object]>([
    ['cancelled', () => ({ result: 202, status: 3 })],
    ['a different amount', (id) => paid(id, { amount: 5 })],
  ])(
    'a deposit is done exactly when it is booked, even if every other response is %s',
    async (_what, says) => {
      for (let round = 0; round < 2; round += 1) {
        const { as, id, callback } = await open();
        let calls = 0;
        answers.verify = () => {
          calls += 1;
          const isPaid = calls % 2 === 0;
          const answer = isPaid ? paid(id) : says(id);
          return async (response: ServerResponse) => {
            await wait(isPaid === (round % 2 === 0) ? 0 : 40);
            response.end(JSON.stringify(answer));
          };
        };
        const statuses = await together(20, async () => (await harness.send('GET', callback)).status);
        expect(new Set(statuses)).toEqual(new Set([200]));
        const payment = await stored(id);
        const [isDone, gateway] = [payment?.is_done, payment?.gateway];
        expect(gateway.state === 'done').toBe(isDone);
        expect(gateway.reported === null).toBe(gateway.state !== 'mismatch');
        expect(await entriesOf(id)).toBe(isDone ? 1 : 0);
        expect(await harness.balanceOf(as.userId)).toBe(isDone ? 10_000 : 0);
      }
    },
  );

  test('a late verification of a deposit disputed by another process credits nothing and does not fail', async () => {
    const { id, callback } = await open();
    const other = await harness.replica();
    let calls = 0;
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    answers.verify = () => {
      calls += 1;
      if (calls > 1) return paid(id, { amount: 5 });
      return async (response: ServerResponse) => {
        await released;
        response.end(JSON.stringify(paid(id)));
      };
    };
    const late = harness.send('GET', callback);
    await eventually(() => calls === 1);
    expect((await apiClient('wallet', other.url)('GET', callback)).status).toBe(200);
    release();
    const { status, body } = await late;
    expect([status, body.payment?.is_done]).toEqual([200, false]);
    expect(await stored(id)).toMatchObject({ is_done: false, gateway: { state: 'mismatch' } });
    expect(await entriesOf(id)).toBe(0);
  });

  test('concurrent callbacks, sweeps and an erasure credit once and store no personal data', async () => {
    const { as, id, callback } = await open();
    answers.verify = () => paid(id);
    const payments = harness.connection.collection('payments');
    await payments.updateOne({ _id: id as never }, { $set: { 'gateway.check_at': new Date(0) } });
    await Promise.all([
      together(20, () => harness.send('GET', callback)),
      together(7, () => harness.wallet.sweepDeposits()),
      erase(as.userId),
    ]);
    expect([await harness.balanceOf(as.userId), await entriesOf(id)]).toEqual([10_000, 1]);
    expect(await stored(id)).toMatchObject({ description: null, is_done: true, meta: { card_number: null } });
  });
});

test('an erasure removes the card number of a disputed deposit', async () => {
  const { as, id, callback } = await open();
  answers.verify = () => paid(id, { amount: 5 });
  await harness.send('GET', callback);
  expect((await stored(id))?.gateway.reported.card_number).toBe('6274****44');
  await erase(as.userId);
  expect((await stored(id))?.gateway.reported).toMatchObject({ amount_rial: 5, card_number: null });
});

describe('concurrent requests and an erasure', () => {
  test('withdrawals and debits never exceed the balance, and no personal data is stored', async () => {
    const as = harness.person();
    await harness.give(as.userId, 10);
    const outcomes = await Promise.all([
      together(10, async () => {
        const body = { amount: 1, description: 'For Sara' };
        return (await harness.send('POST', '/payments/withdrawals', { as, body })).status;
      }),
      together(10, () =>
        harness
          .book({
            idempotency_key: randomUUID(),
            bookings: [{ user_id: as.userId, type: 'purchase', amount: 1, description: 'For Sara' }],
          })
          .then(
            () => 201,
            ({ code }) => code,
          ),
      ),
      erase(as.userId),
    ]);
    const [withdrawals, debits] = [outcomes[0], outcomes[1]];
    expect(withdrawals.filter((status) => ![201, 403, 422].includes(status))).toEqual([]);
    expect(
      debits.filter((outcome) => outcome !== 201 && outcome !== 'payments.insufficient_balance'),
    ).toEqual([]);
    const accepted = [...withdrawals, ...debits].filter((outcome) => outcome === 201).length;
    expect(accepted).toBeLessThanOrEqual(10);
    expect(await harness.balanceOf(as.userId)).toBe(10 - accepted);
    const described = { user_id: as.userId, description: { $ne: null } };
    expect(await harness.connection.collection('payments').countDocuments(described)).toBe(0);
  });

  test('concurrent settlements of an erased account’s withdrawal have one outcome', async () => {
    const as = harness.person();
    await harness.give(as.userId, 20);
    const { body } = await harness.send('POST', '/payments/withdrawals', { as, body: { amount: 20 } });
    const { id } = body.payment;
    await erase(as.userId);
    harness.erase(as.userId);
    const answers = await together(20, (index) =>
      harness.send('POST', `/payments/${id}/${index % 2 === 0 ? 'pay' : 'reject'}`, {
        as: OPERATOR,
        body: { reference: 'TRX-1', reason: 'Closed' },
      }),
    );
    const done = answers.filter(({ status }) => status === 200);
    expect([done.length, answers.filter(({ status }) => status === 409).length]).toEqual([10, 10]);
    const { payment } = done[0]?.body ?? {};
    expect(payment.user).toMatchObject({ id: as.userId, first_name: '' });
    expect(await harness.balanceOf(as.userId)).toBe(payment.is_done ? 0 : 20);
  });
});

/** A sale whose commission takes the whole income. */
const cancellingOut = async (userId: number) => [
  { user_id: await harness.buyer(), type: 'purchase', amount: 7 },
  ...['income', 'commission'].map((type) => ({
    ...{ user_id: userId, type, amount: 7 },
    description: 'Plan by Sara',
  })),
];

test('everything that must conflict with an erasure changes the wallet, even if not the balance', async () => {
  const { as, id, callback } = await open();
  const versionOf = async () =>
    (await harness.connection.collection('wallets').findOne({ _id: as.userId as never }))?.version;
  expect(await versionOf()).toBe(2);
  answers.verify = () => paid(id, { amount: 5 });
  await harness.send('GET', callback);
  expect(await versionOf()).toBe(3);
  await harness.book({ idempotency_key: randomUUID(), bookings: await cancellingOut(as.userId) });
  expect(await versionOf()).toBe(4);
});

test('bookings of an erased account that cancel out store no description', async () => {
  const { userId } = harness.person();
  await erase(userId);
  await harness.book({ idempotency_key: randomUUID(), bookings: await cancellingOut(userId) });
  const payments = await harness.connection.collection('payments').find({ user_id: userId }).toArray();
  expect(payments.map(({ description }) => description)).toEqual([null, null]);
});

test('a repeated credit of a full wallet is treated as a repeat', async () => {
  const { userId } = harness.person();
  await harness.fund(userId, Number.MAX_SAFE_INTEGER - 7);
  const bookings = [
    { user_id: await harness.buyer(), type: 'purchase', amount: 7 },
    { user_id: userId, type: 'income', amount: 7 },
  ];
  const request = { idempotency_key: randomUUID(), bookings };
  const booked = await harness.book(request);
  expect(await harness.book(request)).toEqual({ ...booked, replayed: true });
});

test('the audit finds no difference after these tests', async () => {
  expect((await harness.audit()).difference).toBeUndefined();
});
