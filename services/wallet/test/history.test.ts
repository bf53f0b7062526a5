import { userSchema } from '@fitness/contracts/user.ts';
import { DAY_MS, formatTimestamp } from '@fitness/shared/kernel/clock.ts';
import { apiClient, caller, type Send } from '@fitness/shared/testing/harness.ts';
import { ManualClock } from '@fitness/shared/testing/manual-clock.ts';
import { startMongoProxy } from '@fitness/shared/testing/mongo-proxy.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Harness, OPERATOR, startHarness } from './support.ts';

const clock = new ManualClock('2026-01-15T10:00:00Z');
let harness: Harness;
let send: Send;
let one: ReturnType<Harness['person']>;
let other: ReturnType<Harness['person']>;
/** Payment ids of `one`: two incomes, a purchase, a rejected withdrawal, and a pending one on the next day. */
const ids: number[] = [];

const idsOf = (body: { data: { id: number }[] }): number[] => body.data.map(({ id }) => id);
const newestFirst = (): number[] => [...ids].reverse();

beforeAll(async () => {
  harness = await startHarness({}, { clock });
  send = harness.send;
  one = harness.person();
  other = harness.person();
  ids.push(await harness.give(one.userId, 10_000), await harness.give(one.userId, 5_000));
  const bought = await harness.grpc.call('Book', {
    idempotency_key: 'history',
    bookings: [{ user_id: one.userId, type: 'purchase', amount: 1_000 }],
  });
  ids.push(bought.payment_ids[0] ?? 0);
  await harness.give(other.userId, 7_000);
  const rejected = await send('POST', '/payments/withdrawals', { as: one, body: { amount: 2_000 } });
  ids.push(rejected.body.payment.id);
  await send('POST', `/payments/${rejected.body.payment.id}/reject`, { as: OPERATOR });
  clock.advance(DAY_MS);
  const pending = await send('POST', '/payments/withdrawals', { as: one, body: { amount: 3_000 } });
  ids.push(pending.body.payment.id);
});

afterAll(() => harness.close());

describe('GET /payments', () => {
  test('a member sees their own payments, newest first, with the user embedded by one call', async () => {
    const before = harness.identityCalls();
    const { status, body } = await send('GET', '/payments', { as: one });
    expect(status).toBe(200);
    expect(idsOf(body)).toEqual(newestFirst());
    expect(harness.identityCalls() - before).toBe(1);
    expect(body.data[0].user).toMatchObject({ id: one.userId, email: `user${one.userId}@example.test` });
    expect(body.meta).toMatchObject({
      current_page: 1,
      per_page: 30,
      total: 5,
      last_page: 1,
      from: 1,
      to: 5,
    });
    expect(body.data.some((payment: object) => 'user_balance' in payment)).toBe(false);
  });

  test('a list of another user’s payments returns 403 without payments.view_all', async () => {
    expect((await send('GET', `/payments?user_id=${other.userId}`, { as: one })).status).toBe(403);
    expect((await send('GET', `/payments?user_id=${one.userId}`, { as: one })).status).toBe(200);
  });

  test('the total is counted, because the database’s own number may be wrong after a crash', async () => {
    const proxy = await startMongoProxy(harness.config.MONGODB_URI);
    const replica = await harness.replica({ MONGODB_URI: proxy.uri });
    proxy.answerAt({ fits: (command) => command === 'count', answer: { ok: 1, n: 999 } });
    const { body } = await apiClient('wallet', replica.url)('GET', '/payments', { as: OPERATOR });
    expect(body.meta.total).toBe(10);
    proxy.restore();
    await replica.close();
    await proxy.close();
  });

  test('payments.view_all lists the payments of all users, and of one user by user_id', async () => {
    const all = await send('GET', '/payments', { as: OPERATOR });
    expect(all.body.meta.total).toBe(10);
    const single = await send('GET', `/payments?user_id=${other.userId}`, { as: OPERATOR });
    expect(single.body.data).toHaveLength(1);
    expect(single.body.data[0].user_id).toBe(other.userId);
  });

  test('a viewer without users.view_all does not see the limited fields of the user', async () => {
    const viewer = caller(800_000, ['payments.view_all']);
    const { body } = await send('GET', `/payments?user_id=${one.userId}`, { as: viewer });
    expect(body.data[0].user).toMatchObject({ username: `user${one.userId}` });
    expect(body.data[0].user).not.toHaveProperty('bank_account_number');
  });

  test('user_balance is the current balance, only on withdrawals and only with payments.view_all', async () => {
    const { body } = await send('GET', `/payments?user_id=${one.userId}`, { as: OPERATOR });
    const shown = body.data.map((payment: { type: string; user_balance?: number }) => [
      payment.type,
      payment.user_balance,
    ]);
    expect(shown).toEqual([
      ['withdrawal', 11_000],
      ['withdrawal', 11_000],
      ['purchase', undefined],
      ['income', undefined],
      ['income', undefined],
    ]);
  });

  test.each([
    ['type=income', [1, 0]],
    ['type=purchase', [2]],
    ['is_done=true', [2, 1, 0]],
    ['is_done=false', [4, 3]],
    ['rejected=true', [3]],
    ['rejected=false', [4, 2, 1, 0]],
    ['type=withdrawal&is_done=false&rejected=false', [4]],
    ['from=2026-01-16', [4]],
    ['to=2026-01-15', [3, 2, 1, 0]],
    ['from=2026-01-15%2010:00:01', [4]],
    ['from=2026-01-15%2010:00:00&to=2026-01-15%2010:00:00', [3, 2, 1, 0]],
    ['order=ASC', [0, 1, 2, 3, 4]],
    ['order=DESC', [4, 3, 2, 1, 0]],
  ])('the query ?%s selects and orders the payments', async (search, expected) => {
    const { status, body } = await send('GET', `/payments?${search}`, { as: one });
    expect(status).toBe(200);
    expect(idsOf(body)).toEqual(expected.map((index) => ids[index]));
    expect(body.meta.total).toBe(expected.length);
  });

  // refusals.test.ts has more.
  test('an invalid query is rejected with 422, and a name with brackets is an unknown parameter', async () => {
    for (const [search, field] of [
      ['type=gift', 'type'],
      ['rejected=2', 'rejected'],
      ['from=2026-02-30', 'from'],
      ['to=2026-01-15T10', 'to'],
      ['order=up', 'order'],
      ['user_id=0', 'user_id'],
      ['page=0', 'page'],
    ]) {
      const { status, body } = await send('GET', `/payments?${search}`, { as: one });
      expect([status, Object.keys(body.errors ?? {})]).toEqual([422, [field]]);
    }
    for (const search of ['user_id[$gt]=0', 'type[]=income'])
      expect((await send('GET', `/payments?${search}`, { as: one })).status).toBe(200);
  });

  test.each(['DESC', 'ASC'])('pages and cursors in %s order show every payment once', async (order) => {
    const expected = order === 'ASC' ? ids : newestFirst();
    const paged: number[] = [];
    for (const page of [1, 2, 3, 4])
      paged.push(
        ...idsOf((await send('GET', `/payments?order=${order}&per_page=2&page=${page}`, { as: one })).body),
      );
    expect(paged).toEqual(expected);
    const walked: number[] = [];
    let path: string | null = `/payments?order=${order}&per_page=2`;
    while (path !== null) {
      const { body }: { body: { data: { id: number }[]; meta: { next_cursor: string | null } } } = await send(
        'GET',
        path,
        { as: one },
      );
      walked.push(...idsOf(body));
      const next = body.meta.next_cursor;
      path = next === null ? null : `/payments?order=${order}&per_page=2&cursor=${next}`;
    }
    expect(walked).toEqual(expected);
  });

  test('an unreachable identity causes a 503, and an erased account is shown as a user without names', async () => {
    const gone = harness.person();
    await harness.give(gone.userId, 1);
    harness.setIdentityDown(true);
    const down = await send('GET', '/payments', { as: one });
    harness.setIdentityDown(false);
    expect(down.status).toBe(503);
    expect(down.headers.get('retry-after')).not.toBeNull();
    harness.erase(gone.userId);
    const { body } = await send('GET', `/payments?user_id=${gone.userId}`, { as: OPERATOR });
    expect(body.data[0]).toMatchObject({
      user_id: gone.userId,
      user: { id: gone.userId, username: `deleted:${gone.userId}`, first_name: '', last_name: '' },
    });
    expect(userSchema.parse(body.data[0].user)).toEqual(body.data[0].user);
  });

  test('the payment list returns 401 for a guest, and 403 for a token without a payments permission', async () => {
    expect((await send('GET', '/payments')).status).toBe(401);
    expect((await send('GET', '/payments', { as: caller(one.userId, ['posts.view']) })).status).toBe(403);
  });
});

describe('GET /payments/:id', () => {
  test('a member sees their own payment', async () => {
    const { status, body } = await send('GET', `/payments/${ids[0]}`, { as: one });
    expect(status).toBe(200);
    expect(body.payment).toEqual({
      id: ids[0],
      user_id: one.userId,
      user: expect.objectContaining({ id: one.userId }),
      type: 'income',
      amount: 10_000,
      description: null,
      payable_type: null,
      payable_id: null,
      meta: null,
      is_done: true,
      rejected_at: null,
      created_at: formatTimestamp(new Date('2026-01-15T10:00:00Z')),
    });
  });

  test('a read of another user’s payment returns 403 or, with payments.view_all, 200; an unknown id 404', async () => {
    expect((await send('GET', `/payments/${ids[0]}`, { as: other })).status).toBe(403);
    expect((await send('GET', `/payments/${ids[0]}`, { as: OPERATOR })).status).toBe(200);
    for (const id of ['999999', 'x', '-1', '1.5'])
      expect((await send('GET', `/payments/${id}`, { as: one })).status).toBe(404);
  });
});

describe('GET /payments/balance', () => {
  test('a member sees their spendable balance, or 0 without a wallet', async () => {
    expect((await send('GET', '/payments/balance', { as: one })).body).toEqual({ balance: 11_000 });
    expect((await send('GET', '/payments/balance', { as: harness.person() })).body).toEqual({ balance: 0 });
  });

  test('another user’s balance needs payments.view_all', async () => {
    const path = `/payments/balance?user_id=${one.userId}`;
    expect((await send('GET', path, { as: other })).status).toBe(403);
    expect((await send('GET', path, { as: OPERATOR })).body).toEqual({ balance: 11_000 });
    expect((await send('GET', '/payments/balance?user_id=x', { as: OPERATOR })).status).toBe(422);
  });
});

describe('GET /payments/prices', () => {
  test('the prices are those of store-billing with the rates, without any SKU', async () => {
    const { status, body } = await send('GET', '/payments/prices', { as: one });
    expect(status).toBe(200);
    expect(body).toEqual({
      data: {
        premium: { plus: 1_999_000 },
        boosts: { basic: 99_000, pro: 190_000 },
        gateway_fee_percent: 1,
        commission_percent: 10,
        vat_percent: 0,
      },
    });
    // Guests see prices before they register.
    expect((await send('GET', '/payments/prices')).status).toBe(200);
  });
});
