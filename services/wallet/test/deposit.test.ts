import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { accountDeleted } from '@fitness/proto/events/identity.ts';
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import {
  apiClient,
  caller,
  eventually,
  restrictedCaller,
  type Send,
} from '@fitness/shared/testing/harness.ts';
import { ManualClock } from '@fitness/shared/testing/manual-clock.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { PAUSE_MS, UNPAUSED_ANSWERS, WAITING_PER_USER } from '../src/app/ask-once.ts';
import {
  atTheBank,
  decided,
  eraseAccount,
  type Harness,
  OPERATOR,
  SECOND_OPERATOR,
  setZibalMode,
  startHarness,
  together,
} from './support.ts';

let harness: Harness;
let send: Send;

beforeAll(async () => {
  harness = await startHarness();
  send = harness.send;
});

afterAll(() => harness.close());

const deposit = async (as: UserCaller, amount = 50_000, description?: string) => {
  const body = description === undefined ? { amount } : { amount, description };
  const answer = await send('POST', '/payments/deposit', { as, body });
  expect(answer.status).toBe(201);
  return answer.body as { payment: { id: number; meta: Record<string, unknown> }; payment_url: string };
};

const openOrders = () =>
  harness.connection.collection('payments').countDocuments({ type: 'deposit', is_done: false });

describe('POST /payments/deposit', () => {
  test('a deposit returns the open payment with its fee breakdown and the URL of the payment page', async () => {
    const as = harness.person();
    const { payment, payment_url } = await deposit(as, 50_000, 'For  my\nplan');
    expect(payment).toMatchObject({
      user_id: as.userId,
      user: { id: as.userId, username: `user${as.userId}`, email: `user${as.userId}@example.test` },
      type: 'deposit',
      amount: 50_000,
      description: 'For my plan',
      payable_type: null,
      payable_id: null,
      meta: { amount: 50_000, gateway_fee: 500, payable_amount: 50_500 },
      is_done: false,
      rejected_at: null,
    });
    expect(Object.keys(payment.meta).sort()).toEqual(['amount', 'gateway_fee', 'payable_amount']);
    expect(payment).not.toHaveProperty('user_balance');
    expect(payment_url).toMatch(new RegExp(`^${harness.sandboxUrl}/zibal/start/\\d+$`));
    expect(await harness.balanceOf(as.userId)).toBe(0);
  });

  test.each([
    [999, 422],
    [1_000, 201],
    [500_000_000, 201],
    [500_000_001, 422],
  ])('a deposit with the amount %p returns %i', async (amount, status) => {
    const answer = await send('POST', '/payments/deposit', { as: harness.person(), body: { amount } });
    expect(answer.status).toBe(status);
    if (status === 422) expect(Object.keys(answer.body.errors)).toEqual(['amount']);
  });

  test('a deposit returns 500 while the gateway is unreachable, and nothing is stored', async () => {
    const as = harness.person();
    const before = await openOrders();
    await setZibalMode(harness, 'unreachable');
    const answer = await send('POST', '/payments/deposit', { as, body: { amount: 5_000 } });
    await setZibalMode(harness, 'ok');
    expect(answer.status).toBe(500);
    expect(answer.body).toEqual({
      message: 'We could not reach the payment provider. Please try again later.',
      code: 'payments.provider_error',
    });
    expect(await openOrders()).toBe(before);
  });

  test('a repeated Idempotency-Key opens one payment and returns the same bytes', async () => {
    const as = harness.person();
    const options = { as, body: { amount: 9_000 }, headers: { 'idempotency-key': 'deposit-1' } };
    const first = await send('POST', '/payments/deposit', options);
    const again = await send('POST', '/payments/deposit', options);
    expect(again.status).toBe(201);
    expect(again.text).toBe(first.text);
    const other = await send('POST', '/payments/deposit', { ...options, body: { amount: 9_001 } });
    expect(other.status).toBe(422);
    expect(other.body.errors).toHaveProperty('idempotency_key');
    expect(await harness.connection.collection('payments').countDocuments({ user_id: as.userId })).toBe(1);
  });

  test('a deposit returns 401 for a guest, and 403 for a token without payments.view_own', async () => {
    expect((await send('POST', '/payments/deposit', { body: { amount: 5_000 } })).status).toBe(401);
    const bare = caller(harness.person().userId, ['posts.view']);
    expect((await send('POST', '/payments/deposit', { as: bare, body: {} })).status).toBe(403);
  });

  test('an unreachable identity causes a 503, before the gateway is called', async () => {
    harness.setIdentityDown(true);
    const answer = await send('POST', '/payments/deposit', { as: harness.person(), body: { amount: 5_000 } });
    harness.setIdentityDown(false);
    expect(answer.status).toBe(503);
  });
});

test('an amount that the gateway does not take is rejected with 422 under amount, and nothing is stored', async () => {
  // Every merchant except the simulating one has the card network's ceiling.
  const merchant = apiClient('wallet', (await harness.replica({ ZIBAL_MERCHANT: 'shop-1' })).url);
  const as = harness.person();
  const ask = (amount: number) =>
    merchant('POST', '/payments/deposit', { as, body: { amount }, headers: { 'accept-language': 'en' } });
  const refused = await ask(300_000_000);
  expect(refused.status).toBe(422);
  expect(refused.body.errors).toEqual({
    amount: ['The payment provider does not accept this much at once. Deposit a smaller amount.'],
  });
  const { body } = await merchant('GET', '/payments', { as });
  expect(body.data).toEqual([]);
  expect((await ask(100_000_000)).status).toBe(201);
});

describe('GET /payments/deposit/callback', () => {
  test('a paid deposit is credited, with the gateway’s data and its reference on a new line', async () => {
    const as = harness.person();
    const { payment, payment_url } = await deposit(as, 50_000, 'Top up');
    const callback = await atTheBank(harness, payment_url, 'pay');
    const answer = await send('GET', callback);
    expect(answer.status).toBe(200);
    const { meta, description, is_done, id, user } = answer.body.payment;
    expect({ id, is_done }).toEqual({ id: payment.id, is_done: true });
    expect(meta).toEqual({
      amount: 50_000,
      gateway_fee: 500,
      payable_amount: 50_500,
      track_id: payment_url.split('/').at(-1),
      ref_number: expect.stringMatching(/^\d+$/),
      card_number: expect.stringContaining('*'),
      paid_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      charged_rial: 505_000,
    });
    expect(description).toBe(`Top up\n${meta.ref_number}`);
    expect(user).not.toHaveProperty('email');
    expect(await harness.balanceOf(as.userId)).toBe(50_000);
    const entry = await harness.connection.collection('ledger_entries').findOne({ payment_ids: payment.id });
    expect(entry?.rows).toEqual(
      expect.arrayContaining([
        { account: 'gateway_clearing', amount: -50_500 },
        { account: `wallet:${as.userId}`, amount: 50_000 },
        { account: 'gateway_fees', amount: 500 },
      ]),
    );
    const event = await harness.tap.waitFor('wallet.payment.booked', {
      matches: (published) => published.subject === String(id),
    });
    expect(event.data).toEqual({ payment_id: id, user_id: as.userId, type: 'deposit', amount: 50_000 });
  });

  test('a repeated callback returns the same response and credits nothing', async () => {
    const as = harness.person();
    const { payment_url } = await deposit(as);
    const callback = await atTheBank(harness, payment_url, 'pay');
    const first = await send('GET', callback);
    const again = await send('GET', callback);
    expect(again.text).toBe(first.text);
    expect(await harness.balanceOf(as.userId)).toBe(50_000);
  });

  test('twenty concurrent callbacks credit a deposit once', async () => {
    const as = harness.person();
    const { payment, payment_url } = await deposit(as);
    const callback = await atTheBank(harness, payment_url, 'pay');
    const answers = await together(20, () => send('GET', callback));
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200));
    expect(answers.every(({ body }) => body.payment.is_done === true)).toBe(true);
    expect(await harness.balanceOf(as.userId)).toBe(50_000);
    expect(
      await harness.connection.collection('ledger_entries').countDocuments({ payment_ids: payment.id }),
    ).toBe(1);
  });

  test('a claimed success that the gateway does not confirm credits nothing', async () => {
    const as = harness.person();
    const { payment, payment_url } = await deposit(as);
    const trackId = payment_url.split('/').at(-1);
    const answer = await send(
      'GET',
      `/payments/deposit/callback?trackId=${trackId}&success=1&status=2&orderId=${payment.id}`,
      { as },
    );
    expect(answer.status).toBe(200);
    expect(answer.body.payment.is_done).toBe(false);
    expect(await harness.balanceOf(as.userId)).toBe(0);
  });

  test('a claimed failure does not prevent the credit of a paid deposit', async () => {
    const as = harness.person();
    const { payment_url } = await deposit(as);
    const callback = await atTheBank(harness, payment_url, 'pay');
    const forged = callback.replace('success=1', 'success=0').replace('status=2', 'status=3');
    expect((await send('GET', forged)).body.payment.is_done).toBe(true);
    expect(await harness.balanceOf(as.userId)).toBe(50_000);
  });

  test('a cancelled payment is not credited', async () => {
    const as = harness.person();
    const { payment, payment_url } = await deposit(as);
    const answer = await send('GET', await atTheBank(harness, payment_url, 'cancel'));
    expect(answer.status).toBe(200);
    expect(answer.body.payment).toMatchObject({ id: payment.id, is_done: false });
    expect(answer.body.payment.meta).not.toHaveProperty('track_id');
    expect(await harness.balanceOf(as.userId)).toBe(0);
  });

  test('a callback returns 500 while the gateway is unreachable, and a later one credits the deposit', async () => {
    const as = harness.person();
    const { payment_url } = await deposit(as);
    const callback = await atTheBank(harness, payment_url, 'pay');
    await setZibalMode(harness, 'unreachable');
    const failed = await send('GET', callback);
    await setZibalMode(harness, 'ok');
    expect(failed.status).toBe(500);
    expect(failed.body.code).toBe('payments.provider_error');
    expect((await send('GET', callback)).body.payment.is_done).toBe(true);
    expect(await harness.balanceOf(as.userId)).toBe(50_000);
  });

  test('an unknown track id and the order id of another payment are the same 404', async () => {
    const { payment_url } = await deposit(harness.person());
    const trackId = payment_url.split('/').at(-1);
    const unknown = await send('GET', '/payments/deposit/callback?trackId=1&success=1');
    const foreign = await send('GET', `/payments/deposit/callback?trackId=${trackId}&orderId=999999`);
    expect([unknown.status, foreign.status]).toEqual([404, 404]);
    expect(foreign.text).toBe(unknown.text);
  });

  test('a callback without the order id is the 404 of an unknown track id, except for the payer', async () => {
    const as = harness.person();
    const { payment, payment_url } = await deposit(as, 50_000, 'For Sara');
    await atTheBank(harness, payment_url, 'pay');
    const path = `/payments/deposit/callback?trackId=${payment_url.split('/').at(-1)}`;
    const unknown = await send('GET', '/payments/deposit/callback?trackId=1');
    const guesses = [
      { path },
      { path: `${path}&orderId=${payment.id}` },
      { path: `${path}&orderId=${payment.id}-${'0'.repeat(24)}` },
      { path, as: harness.person() },
      { path, as: OPERATOR },
      // The payer's own token, but without the permission to see payments.
      { path, as: restrictedCaller(as.userId, 'posts.view') },
    ];
    for (const { path: guess, as: viewer } of guesses) {
      const answer = await send('GET', guess, viewer === undefined ? {} : { as: viewer });
      expect([answer.status, answer.text]).toEqual([404, unknown.text]);
    }
    expect(await harness.balanceOf(as.userId)).toBe(0);
    const payer = await send('GET', `${path}&orderId=wrong`, { as });
    expect(payer.body.payment).toMatchObject({ id: payment.id, is_done: true });
    expect(payer.body.payment.description).toMatch(/^For Sara\n\d+$/);
    expect(payer.body.payment.user.email).toBe(`user${as.userId}@example.test`);
  });

  test('an address gets 429 after 30 wrong callbacks in a minute, and correct ones are still settled', async () => {
    const as = harness.person();
    const { payment_url } = await deposit(as);
    const callback = await atTheBank(harness, payment_url, 'pay');
    const from = (address: string) => ({ headers: { 'x-client-address': address } });
    const wrong = callback.replace(/orderId=[^&]+/, 'orderId=1');
    const answers = await together(40, () => send('GET', wrong, from('203.0.113.9')));
    const refused = answers.filter(({ status }) => status === 429);
    expect([answers.filter(({ status }) => status === 404).length, refused.length]).toEqual([30, 10]);
    for (const { body, headers } of refused) {
      expect(Object.keys(body)).toEqual(['message']);
      expect(headers.get('x-ratelimit-limit')).toBe('30');
      expect(headers.get('x-ratelimit-remaining')).toBe('0');
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
    }
    expect((await send('GET', wrong, from('203.0.113.10'))).status).toBe(404);
    const right = await send('GET', callback, from('203.0.113.9'));
    expect([right.status, right.body.payment.is_done]).toEqual([200, true]);
    expect(await harness.balanceOf(as.userId)).toBe(50_000);
  });

  test('the order id, which cannot be guessed, proves that the caller comes from the bank', async () => {
    const { payment, payment_url } = await deposit(harness.person(), 50_000, 'Top up');
    const callback = await atTheBank(harness, payment_url, 'pay');
    const orderId = new URL(callback, 'http://api.test').searchParams.get('orderId') ?? '';
    expect(orderId).toMatch(new RegExp(`^${payment.id}-[0-9a-f]{24}$`));
    const forged = callback.replace(orderId, `${payment.id}-${'0'.repeat(24)}`);
    expect((await send('GET', forged)).status).toBe(404);
    expect((await send('GET', callback)).body.payment.description).toMatch(/^Top up\n\d+$/);
  });

  test('a callback redirects the browser to APP_DEPOSIT_RETURN_URL with the outcome', async () => {
    const replica = await harness.replica({ APP_DEPOSIT_RETURN_URL: 'https://app.test/wallet?tab=1' });
    const sendThere = apiClient('wallet', replica.url);
    const paid = await deposit(harness.person());
    const paidAnswer = await sendThere('GET', await atTheBank(harness, paid.payment_url, 'pay'));
    expect(paidAnswer.status).toBe(302);
    expect(paidAnswer.headers.get('location')).toBe(
      `https://app.test/wallet?tab=1&payment_id=${paid.payment.id}&status=done`,
    );
    const cancelled = await deposit(harness.person());
    const cancelledAnswer = await sendThere('GET', await atTheBank(harness, cancelled.payment_url, 'cancel'));
    expect(cancelledAnswer.headers.get('location')).toContain('status=cancelled');
    const open = await deposit(harness.person());
    const callback = await atTheBank(harness, open.payment_url, 'pay');
    await setZibalMode(harness, 'unreachable');
    const pending = await sendThere('GET', callback);
    await setZibalMode(harness, 'ok');
    expect(pending.headers.get('location')).toContain('status=pending');
  });
});

/** A gateway with scripted responses. */
const startStrangeGateway = async (): Promise<{
  url: string;
  answers: Record<string, unknown>;
  /** The names of the calls that it received. */
  calls: string[];
  /** Delays every response until `gate` resolves. */
  setGate: (gate: Promise<void>) => void;
  server: Server;
}> => {
  const answers: Record<string, unknown> = { request: { result: 100, trackId: 777 } };
  const calls: string[] = [];
  let gate = Promise.resolve();
  const server = createServer(async (request, response) => {
    const call = request.url?.split('/').at(-1) ?? '';
    calls.push(call);
    await gate;
    const answer = answers[call];
    if (typeof answer === 'string') response.setHeader('content-type', 'text/html').end(answer);
    else if (typeof answer === 'number') response.writeHead(answer).end();
    else response.setHeader('content-type', 'application/json').end(JSON.stringify(answer));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const setGate = (next: Promise<void>): void => {
    gate = next;
  };
  return { url, answers, calls, setGate, server };
};

describe('a gateway with unusual responses', () => {
  let strange: Awaited<ReturnType<typeof startStrangeGateway>>;
  /** The same wallet with this gateway. */
  let other: Harness;

  beforeAll(async () => {
    strange = await startStrangeGateway();
    const replica: Harness['replica'] = (changes, clock) =>
      harness.replica({ ZIBAL_BASE_URL: strange.url, ...changes }, clock);
    const wallet = await replica();
    other = { ...harness, wallet, send: apiClient('wallet', wallet.url), replica };
  });

  afterAll(() => new Promise((resolve) => strange.server.close(resolve)));

  let track = 1_000;
  const orderIdOf = async (id: number): Promise<string> =>
    (await other.connection.collection('payments').findOne({ _id: id as never }))?.gateway.order_id;
  const open = async (): Promise<{ as: UserCaller; id: number; callback: string }> => {
    track += 1;
    strange.answers.request = { result: 100, trackId: track };
    const as = other.person();
    const answer = await other.send('POST', '/payments/deposit', { as, body: { amount: 10_000 } });
    return {
      as,
      id: answer.body.payment.id,
      callback: `/payments/deposit/callback?trackId=${track}&success=1&status=2&orderId=${await orderIdOf(answer.body.payment.id)}`,
    };
  };
  const paid = (id: number, changes: Record<string, unknown> = {}) => ({
    result: 100,
    status: 1,
    amount: 101_000,
    orderId: String(id),
    refNumber: 42,
    cardNumber: '6274****44',
    paidAt: '2026-01-15T10:00:00.123000',
    ...changes,
  });

  test.each([
    ['amount', { amount: 100_990 }],
    ['order', { orderId: '999999' }],
  ])('a payment with a different %s is never credited', async (_what, changes) => {
    const { as, id, callback } = await open();
    strange.answers.verify = paid(id, changes);
    expect((await other.send('GET', callback)).body.payment.is_done).toBe(false);
    strange.answers.verify = { result: 201 };
    strange.answers.inquiry = paid(id, changes);
    expect((await other.send('GET', callback)).body.payment.is_done).toBe(false);
    // Not even a later matching response counts: the deposit has been reported to operators.
    strange.answers.inquiry = paid(id);
    expect((await other.send('GET', callback)).body.payment.is_done).toBe(false);
    expect(await other.balanceOf(as.userId)).toBe(0);
    expect(await other.connection.collection('ledger_entries').countDocuments({ payment_ids: id })).toBe(0);
  });

  test('operators see each disputed deposit with what the gateway took, and the audit lists it', async () => {
    const { as, id, callback } = await open();
    const trackId = String(track);
    strange.answers.verify = paid(id, { amount: 101_001 });
    await together(20, () => other.send('GET', callback));
    const { status, body } = await other.send('GET', '/payments/deposit/disputed', { as: OPERATOR });
    expect(status).toBe(200);
    expect(body.data[0]).toMatchObject({
      payment: { id, user_id: as.userId, is_done: false, meta: { amount: 10_000, payable_amount: 10_100 } },
      track_id: trackId,
      reported: {
        charged_rial: 101_001,
        order_id: String(id),
        ref_number: '42',
        card_number: '6274****44',
        paid_at: '2026-01-15T10:00:00.123Z',
      },
    });
    expect(body.data.filter((row: { payment: { id: number } }) => row.payment.id === id)).toHaveLength(1);
    const report = await other.audit();
    expect(report.difference).toBeUndefined();
    expect(report.disputedDeposits.ids).toContain(id);
  });

  test('a deposit disputed after the erasure of its payer stores no card number', async () => {
    const { as, id, callback } = await open();
    const data = { user_id: as.userId, deleted_at: '2026-01-15 10:00:00' };
    const eventId = await other.publish(accountDeleted, data);
    await eventually(
      async () => (await other.connection.collection('inbox').countDocuments({ eventId })) === 1,
    );
    strange.answers.inquiry = paid(id, { amount: 101_001 });
    await other.send('GET', callback);
    const stored = await other.connection.collection('payments').findOne({ _id: id as never });
    expect(stored?.gateway).toMatchObject({
      state: 'mismatch',
      reported: { amount_rial: 101_001, card_number: null },
    });
  });

  test('the list of disputed deposits has pages and cursors, and needs payments.view_all', async () => {
    const disputed: number[] = [];
    for (let index = 0; index < 3; index += 1) {
      const { id, callback } = await open();
      strange.answers.verify = paid(id, { amount: 5 });
      await other.send('GET', callback);
      disputed.unshift(id);
    }
    const list = (query: string) =>
      other.send('GET', `/payments/deposit/disputed?per_page=2&${query}`, { as: OPERATOR });
    const idsOf = (body: { data: { payment: { id: number } }[] }) =>
      body.data.map(({ payment }) => payment.id);
    const [first, second] = [(await list('page=1')).body, (await list('page=2')).body];
    expect([...idsOf(first), ...idsOf(second)].slice(0, 3)).toEqual(disputed);
    expect(first.meta.total).toBeGreaterThanOrEqual(3);
    const next = (await list(`cursor=${first.meta.next_cursor}`)).body;
    expect(idsOf(next)).toEqual(idsOf(second));
    const path = '/payments/deposit/disputed';
    const { user_id: payerId } = first.data[0].payment;
    const own = (await list(`user_id=${payerId}`)).body;
    expect([idsOf(own), own.meta.total]).toEqual([[disputed[0]], 1]);
    expect(idsOf((await list(`user_id=${other.person().userId}`)).body)).toEqual([]);
    expect((await list('user_id=x')).status).toBe(422);
    expect((await other.send('GET', path)).status).toBe(401);
    expect((await other.send('GET', path, { as: other.person() })).status).toBe(403);
    expect((await other.send('GET', `${path}?page=0`, { as: OPERATOR })).status).toBe(422);
  });

  describe('POST /payments/:id/resolve', () => {
    const NOTE = 'Agreed with the gateway by phone';
    const disputed = async () => {
      const opened = await open();
      strange.answers.verify = paid(opened.id, { amount: 101_001 });
      await other.send('GET', opened.callback);
      return opened;
    };
    const resolve = (id: number, outcome: unknown, note: unknown = NOTE, by: Send = other.send) =>
      by('POST', `/payments/${id}/resolve`, { as: OPERATOR, body: { outcome, note } });
    const entriesOf = (id: number) =>
      other.connection.collection('ledger_entries').countDocuments({ payment_ids: id });
    const isListed = async (id: number) => {
      const { body } = await other.send('GET', '/payments/deposit/disputed?per_page=100', { as: OPERATOR });
      return body.data.some(({ payment }: { payment: { id: number } }) => payment.id === id);
    };

    test('the outcome credited books the requested amount once, with what the gateway took', async () => {
      const { as, id } = await disputed();
      expect(await isListed(id)).toBe(true);
      const { status, body } = await resolve(id, 'credited');
      expect(status).toBe(200);
      expect(body.payment).toMatchObject({
        id,
        is_done: true,
        description: 'Wallet deposit\n42',
        meta: {
          amount: 10_000,
          payable_amount: 10_100,
          charged_rial: 101_001,
          card_number: '6274****44',
          resolution: {
            outcome: 'credited',
            note: NOTE,
            resolved_by: OPERATOR.userId,
            resolved_at: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/),
          },
        },
      });
      expect([await other.balanceOf(as.userId), await entriesOf(id)]).toEqual([10_000, 1]);
      expect(await isListed(id)).toBe(false);
      const matches = ({ subject }: { subject: string }) => subject === String(id);
      const event = await other.tap.waitFor('wallet.payment.booked', { matches });
      expect(event.data).toEqual({ payment_id: id, user_id: as.userId, type: 'deposit', amount: 10_000 });
    });

    test('the outcome returned books nothing, whatever the gateway says later', async () => {
      const { as, id, callback } = await disputed();
      const { status, body } = await resolve(id, 'returned');
      expect([status, body.payment.is_done]).toEqual([200, false]);
      expect(body.payment.meta.resolution).toMatchObject({ outcome: 'returned', note: NOTE });
      expect(await isListed(id)).toBe(false);
      const matches = ({ subject }: { subject: string }) => subject === String(id);
      const event = await other.tap.waitFor('wallet.deposit.returned', { matches });
      expect(event.data).toEqual({ payment_id: id, user_id: as.userId, amount: 10_000 });
      strange.answers.verify = paid(id);
      expect((await other.send('GET', callback)).body.payment.is_done).toBe(false);
      await other.connection
        .collection('payments')
        .updateOne({ _id: id as never }, { $set: { 'gateway.check_at': new Date(0) } });
      await other.wallet.sweepDeposits();
      expect([await other.balanceOf(as.userId), await entriesOf(id)]).toEqual([0, 0]);
    });

    test.each([
      ['credited', 'returned'],
      ['returned', 'credited'],
    ])(
      'a second resolution as %s returns the payment unchanged; another note, operator or outcome, such as %s, gets 409 with whose it was',
      async (outcome, another) => {
        const { id } = await disputed();
        const first = await resolve(id, outcome);
        const again = await resolve(id, outcome);
        expect([again.status, again.text]).toEqual([200, first.text]);
        const bySecond = { as: SECOND_OPERATOR, body: { outcome, note: NOTE } };
        for (const refused of [
          await resolve(id, outcome, 'Another note'),
          await resolve(id, another),
          await other.send('POST', `/payments/${id}/resolve`, bySecond),
        ])
          expect([refused.status, refused.body]).toEqual([
            409,
            {
              message: 'This has already been settled.',
              code: 'payments.already_settled',
              settled_by: OPERATOR.userId,
              settled_at: expect.any(String),
              outcome,
              note: NOTE,
            },
          ]);
      },
    );

    test('two operators on two processes have exactly one outcome, booked at most once', async () => {
      const processes = [other.send, apiClient('wallet', (await other.replica()).url)] as const;
      const outcomes = ['credited', 'returned'] as const;
      const { as, id } = await disputed();
      const answers = await together(20, (index) =>
        decided(() => resolve(id, outcomes[index % 2], NOTE, processes[index % 4 < 2 ? 0 : 1])),
      );
      const done = answers.filter(({ status }) => status === 200);
      const refused = answers.filter(({ status }) => status === 409);
      expect([done.length, refused.length]).toEqual([10, 10]);
      expect(new Set(done.map(({ body }) => body.payment.is_done)).size).toBe(1);
      const isCredited = done[0]?.body.payment.is_done === true;
      expect(await other.balanceOf(as.userId)).toBe(isCredited ? 10_000 : 0);
      expect(await entriesOf(id)).toBe(isCredited ? 1 : 0);
    });

    test('a deposit that is not disputed gets 409; other types of payment and unknown ones get 404', async () => {
      const { id, callback } = await open();
      strange.answers.verify = { result: 202, status: 3 };
      for (const outcome of ['credited', 'returned']) {
        const { status, body } = await resolve(id, outcome);
        expect([status, body]).toEqual([409, { message: 'This deposit is not disputed.' }]);
      }
      strange.answers.verify = paid(id);
      await other.send('GET', callback);
      expect((await resolve(id, 'credited')).status).toBe(409);
      const income = await other.give(other.person().userId, 5);
      for (const unknown of [income, 999_999]) expect((await resolve(unknown, 'credited')).status).toBe(404);
    });

    test('an invalid resolution is rejected with 422 under its field, and nothing is booked', async () => {
      const { as, id } = await disputed();
      for (const [body, field] of [
        [{ note: NOTE }, 'outcome'],
        [{ outcome: 'paid', note: NOTE }, 'outcome'],
        [{ outcome: 'credited' }, 'note'],
        [{ outcome: 'credited', note: ' ' }, 'note'],
        [{ outcome: 'credited', note: 'x'.repeat(2_001) }, 'note'],
        [{ outcome: 'credited', note: 'half a pair \ud800' }, 'note'],
      ]) {
        const answer = await other.send('POST', `/payments/${id}/resolve`, { as: OPERATOR, body });
        expect([body, answer.status, Object.keys(answer.body.errors ?? {})]).toEqual([body, 422, [field]]);
      }
      expect([await other.balanceOf(as.userId), await isListed(id)]).toEqual([0, true]);
    });

    test('a resolution needs payments.resolve_disputes, and a reachable identity', async () => {
      const { as, id } = await disputed();
      const body = { outcome: 'credited', note: NOTE };
      const settler = caller(900_003, ['payments.view_all', 'payments.settle_withdrawals']);
      expect((await other.send('POST', `/payments/${id}/resolve`, { body })).status).toBe(401);
      for (const viewer of [as, settler])
        expect((await other.send('POST', `/payments/${id}/resolve`, { as: viewer, body })).status).toBe(403);
      other.setIdentityDown(true);
      const down = await resolve(id, 'credited');
      other.setIdentityDown(false);
      expect([down.status, await other.balanceOf(as.userId)]).toEqual([503, 0]);
      expect((await resolve(id, 'credited')).status).toBe(200);
    });

    test('holders of payments.view_all see the resolution, and its note is removed with the account', async () => {
      const { as, id } = await disputed();
      await resolve(id, 'credited');
      const shown = await other.send('GET', `/payments/${id}`, { as });
      expect(shown.body.payment.is_done).toBe(true);
      expect(shown.body.payment.meta).not.toHaveProperty('resolution');
      await eraseAccount(other, as.userId);
      const { body } = await other.send('GET', `/payments/${id}`, { as: OPERATOR });
      expect(body.payment.meta).toMatchObject({
        card_number: null,
        resolution: { outcome: 'credited', note: null },
      });
    });

    test('a resolution after the erasure of the payer stores no personal data', async () => {
      const { as, id } = await disputed();
      await eraseAccount(other, as.userId);
      const refused = await resolve(id, 'credited');
      expect([refused.status, Object.keys(refused.body)]).toEqual([409, ['message']]);
      expect((await resolve(id, 'returned')).body.payment).toMatchObject({
        is_done: false,
        description: null,
        meta: { resolution: { outcome: 'returned', note: null } },
      });
      expect(await other.balanceOf(as.userId)).toBe(0);
      const stored = await other.connection.collection('payments').findOne({ _id: id as never });
      expect(JSON.stringify(stored)).not.toMatch(/phone|6274/);
    });
  });

  test('the audit finds no difference after disputes and resolutions', async () => {
    expect((await other.audit()).difference).toBeUndefined();
  });

  test('the sweep disputes a deposit like the callback and does not verify it again', async () => {
    const { id, as } = await open();
    strange.answers.verify = paid(id, { orderId: '1' });
    const payments = other.connection.collection('payments');
    await payments.updateOne({ _id: id as never }, { $set: { 'gateway.check_at': new Date(0) } });
    expect(await other.wallet.sweepDeposits()).toMatchObject({ verified: 1, credited: 0 });
    expect((await payments.findOne({ _id: id as never }))?.gateway).toMatchObject({
      state: 'mismatch',
      check_at: null,
    });
    expect(await other.balanceOf(as.userId)).toBe(0);
  });

  test('an already-verified response without details leads to an inquiry, which credits the deposit', async () => {
    const { as, id, callback } = await open();
    strange.answers.verify = { result: 201 };
    strange.answers.inquiry = paid(id, { orderId: id, amount: '101000', refNumber: null });
    const { payment } = (await other.send('GET', callback, { as })).body;
    expect(payment).toMatchObject({ is_done: true, description: 'Wallet deposit' });
    expect(payment.meta).toMatchObject({ ref_number: null, paid_at: '2026-01-15T10:00:00.123Z' });
    expect(await other.balanceOf(as.userId)).toBe(10_000);
  });

  test('the gateway is called once in two seconds after three responses that a deposit is not paid', async () => {
    expect(PAUSE_MS).toBe(2_000);
    // The clock stands still, so the rest of the pause has its full length on a slow machine, too.
    const clock = new ManualClock(new Date());
    const replica = await other.replica({}, clock);
    const callBack = apiClient('wallet', replica.url);
    const { as, id, callback } = await open();
    strange.answers.verify = { result: 202, status: -1 };
    for (let call = 1; call <= UNPAUSED_ANSWERS; call += 1) {
      const { status, body } = await callBack('GET', callback);
      expect([status, body.payment.is_done]).toEqual([200, false]);
    }
    const verifications = () => strange.calls.filter((call) => call === 'verify').length;
    const before = verifications();
    strange.answers.verify = paid(id);
    clock.advance(PAUSE_MS - 200);
    const startedAt = performance.now();
    const answers = await Promise.all(Array.from({ length: 20 }, () => callBack('GET', callback)));
    expect(performance.now() - startedAt).toBeGreaterThan(150);
    expect(answers.map(({ body }) => body.payment.is_done)).toEqual(Array(20).fill(true));
    expect(verifications() - before).toBe(1);
    expect(await other.balanceOf(as.userId)).toBe(10_000);
    await replica.close();
  });

  test('twenty callbacks of a payer wait for the gateway, and further ones return at once', async () => {
    const { as, id, callback } = await open();
    strange.answers.verify = paid(id);
    const gate = Promise.withResolvers<void>();
    strange.setGate(gate.promise);
    const before = strange.calls.length;
    const heldAnswers: Promise<unknown>[] = [];
    let answered = 0;
    for (let call = 1; call <= WAITING_PER_USER + 5; call += 1) {
      const answer = other.send('GET', callback).then((response) => {
        answered += 1;
        return response;
      });
      heldAnswers.push(answer);
    }
    await eventually(() => strange.calls.length > before && answered === 5);
    gate.resolve();
    const answers = (await Promise.all(heldAnswers)) as Awaited<ReturnType<typeof other.send>>[];
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(WAITING_PER_USER + 5);
    expect(answers.filter(({ body }) => body.payment.is_done)).toHaveLength(WAITING_PER_USER);
    expect(await other.balanceOf(as.userId)).toBe(10_000);
  });

  test('the gateway is asked again for a callback that arrived after the inquiry was sent', async () => {
    const { as, id, callback } = await open();
    strange.answers.verify = { result: 202, status: -1 };
    const [gate, next] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    strange.setGate(gate.promise);
    const before = strange.calls.length;
    const early = other.send('GET', callback);
    await eventually(() => strange.calls.length > before);
    const late = other.send('GET', callback);
    // Another request of the same connection pool returns after the late callback has joined.
    expect((await other.send('GET', '/payments/balance', { as })).status).toBe(200);
    strange.setGate(next.promise);
    gate.resolve();
    expect((await early).body.payment.is_done).toBe(false);
    strange.answers.verify = paid(id);
    next.resolve();
    expect((await late).body.payment.is_done).toBe(true);
    expect(await other.balanceOf(as.userId)).toBe(10_000);
  });

  test('the gateway is asked once for concurrent callbacks of a deposit', async () => {
    const { as, id, callback } = await open();
    strange.answers.verify = paid(id);
    const gate = Promise.withResolvers<void>();
    strange.setGate(gate.promise);
    const before = strange.calls.length;
    const callbacks = Array.from({ length: 20 }, () => other.send('GET', callback));
    await eventually(() => strange.calls.length > before);
    gate.resolve();
    for (const { body } of await Promise.all(callbacks)) expect(body.payment.is_done).toBe(true);
    expect(strange.calls.slice(before)).toEqual(['verify']);
    expect(await other.balanceOf(as.userId)).toBe(10_000);
  });

  test('a reversed payment is not credited', async () => {
    const { as, id, callback } = await open();
    strange.answers.verify = { result: 201 };
    strange.answers.inquiry = paid(id, { status: 18 });
    expect((await other.send('GET', callback)).body.payment.is_done).toBe(false);
    expect(await other.balanceOf(as.userId)).toBe(0);
  });

  test('a cancelled deposit is credited when the gateway later reports the payment', async () => {
    const { as, id, callback } = await open();
    strange.answers.verify = { result: 202, status: 3 };
    expect((await other.send('GET', callback)).body.payment.is_done).toBe(false);
    strange.answers.verify = paid(id);
    expect((await other.send('GET', callback)).body.payment.is_done).toBe(true);
    expect(await other.balanceOf(as.userId)).toBe(10_000);
  });

  test.each([
    ['HTML with status 200', '<html></html>'],
    ['JSON of another shape', { ok: true }],
    ['status 502', 502],
    ['a rejection of our merchant key', { result: 102 }],
    ['no track id', { result: 100 }],
  ])('%s instead of an order is payments.provider_error', async (_what, answer) => {
    strange.answers.request = answer;
    const as = other.person();
    const failed = await other.send('POST', '/payments/deposit', { as, body: { amount: 5_000 } });
    expect(failed.status).toBe(500);
    expect(failed.body.code).toBe('payments.provider_error');
    expect(failed.text).not.toMatch(/zibal|127\.0\.0\.1|stack/i);
  });
});

describe('VAT', () => {
  test('a VAT rate adds the tax contained in the fee to the meta, and the payer is charged the same', async () => {
    const replica = await harness.replica({ VAT_PERCENT: 10, GATEWAY_FEE_PERCENT: 2.2 });
    const as = harness.person();
    const answer = await apiClient('wallet', replica.url)('POST', '/payments/deposit', {
      as,
      body: { amount: 50_000 },
    });
    expect(answer.body.payment.meta).toEqual({
      amount: 50_000,
      gateway_fee: 1_100,
      payable_amount: 51_100,
      vat_percent: 10,
      vat_amount: 100,
    });
    await send('GET', await atTheBank(harness, answer.body.payment_url, 'pay'));
    const entry = await harness.connection
      .collection('ledger_entries')
      .findOne({ payment_ids: answer.body.payment.id });
    expect(entry?.rows).toContainEqual({ account: 'vat', amount: 100 });
    expect(entry?.rows).toContainEqual({ account: 'gateway_fees', amount: 1_000 });
  });
});

test('the audit finds no difference after these tests', async () => {
  expect((await harness.audit()).difference).toBeUndefined();
});
