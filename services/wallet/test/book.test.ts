import { grpcDefinitions } from '@fitness/shared/grpc/load.ts';
import { testClient } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Harness, startHarness, together } from './support.ts';

let harness: Harness;
let keys = 0;
const key = (): string => {
  keys += 1;
  return `key-${keys}`;
};

const purchase = (userId: number, amount: number) => ({ user_id: userId, type: 'purchase', amount });

beforeAll(async () => {
  harness = await startHarness();
});

afterAll(() => harness.close());

describe('Book', () => {
  test('a sale books purchase, income and commission together, with rows that add up to zero', async () => {
    const [buyer, seller] = [harness.person().userId, harness.person().userId];
    await harness.give(buyer, 100_000);
    const answer = await harness.grpc.call('Book', {
      idempotency_key: key(),
      bookings: [
        {
          ...purchase(buyer, 60_000),
          description: 'Plan',
          payable_type: 'App\\Models\\TrainingServices\\TrainingService',
          payable_id: 7,
        },
        { user_id: seller, type: 'income', amount: 60_000 },
        { user_id: seller, type: 'commission', amount: 6_000 },
      ],
    });
    expect(answer.replayed).toBe(false);
    expect(answer.payment_ids).toHaveLength(3);
    expect(await harness.balanceOf(buyer)).toBe(40_000);
    expect(await harness.balanceOf(seller)).toBe(54_000);
    const entry = await harness.connection
      .collection('ledger_entries')
      .findOne({ payment_ids: answer.payment_ids[0] });
    expect(entry?.rows).toEqual(
      expect.arrayContaining([
        { account: `wallet:${buyer}`, amount: -60_000 },
        { account: `wallet:${seller}`, amount: 54_000 },
        { account: 'commission', amount: 6_000 },
      ]),
    );
    expect(entry?.rows).toHaveLength(3);
    const payment = await harness.connection
      .collection('payments')
      .findOne({ _id: answer.payment_ids[0] as never });
    expect(payment).toMatchObject({ user_id: buyer, type: 'purchase', is_done: true, payable_id: 7 });
  });

  test('every booked payment is published once, with its seal', async () => {
    const { userId } = harness.person();
    const id = await harness.give(userId, 5_000);
    await together(5, () => harness.wallet.sealLedger());
    const published = ({ data }: { data: unknown }) =>
      (data as { payments?: { payment_id: number }[] }).payments ?? [];
    const matches = (event: { data: unknown }) =>
      published(event).some(({ payment_id }) => payment_id === id);
    const event = await harness.tap.waitFor('wallet.ledger.sealed', { matches });
    const mine = published(event).filter(({ payment_id }) => payment_id === id);
    expect(mine).toEqual([{ payment_id: id, user_id: userId, type: 'income', amount: 5_000 }]);
    expect(harness.tap.events.filter(matches)).toHaveLength(1);
  });

  test('a debit above the balance is refused, and nothing is booked', async () => {
    const [buyer, seller] = [harness.person().userId, harness.person().userId];
    await harness.give(buyer, 999);
    const refused = harness.grpc.call('Book', {
      idempotency_key: key(),
      bookings: [{ user_id: seller, type: 'income', amount: 1_000 }, purchase(buyer, 1_000)],
    });
    await expect(refused).rejects.toMatchObject({
      kind: 'bad_request',
      code: 'payments.insufficient_balance',
    });
    expect(await harness.balanceOf(buyer)).toBe(999);
    expect(await harness.balanceOf(seller)).toBe(0);
    expect(await harness.connection.collection('payments').countDocuments({ user_id: seller })).toBe(0);
  });

  test('a refused booking frees its key and succeeds once the balance is sufficient', async () => {
    const { userId } = harness.person();
    const request = { idempotency_key: key(), bookings: [purchase(userId, 500)] };
    await expect(harness.book(request)).rejects.toMatchObject({ code: 'payments.insufficient_balance' });
    await harness.give(userId, 500);
    expect(await harness.book(request)).toMatchObject({ replayed: false });
    expect(await harness.balanceOf(userId)).toBe(0);
  });

  test('the same key with a different input is refused and changes nothing', async () => {
    const { userId } = harness.person();
    await harness.give(userId, 1_000);
    const idempotency_key = key();
    await harness.book({ idempotency_key, bookings: [purchase(userId, 100)] });
    for (const bookings of [
      [purchase(userId, 101)],
      [{ ...purchase(userId, 100), payable_id: 1 }],
      [{ ...purchase(userId, 100), description: '' }],
    ]) {
      await expect(harness.book({ idempotency_key, bookings })).rejects.toMatchObject({
        kind: 'validation',
        fields: { idempotency_key: [{ key: 'idempotency.other_body' }] },
      });
    }
    expect(await harness.balanceOf(userId)).toBe(900);
  });

  test('amounts that a double cannot represent exactly are refused, not rounded', async () => {
    const { userId } = harness.person();
    for (const amount of ['9007199254740993', '9223372036854775807', 0, -5]) {
      const refused = harness.book({
        idempotency_key: key(),
        bookings: [{ user_id: userId, type: 'income', amount }],
      });
      await expect(refused).rejects.toMatchObject({ kind: 'validation' });
    }
    expect(await harness.balanceOf(userId)).toBe(0);
  });

  test('large amounts stay exact to the last Tooman', async () => {
    const { userId } = harness.person();
    await harness.fund(userId, 4_000_000_000_000_001);
    await harness.fund(userId, 2_147_483_647);
    await harness.book({ idempotency_key: key(), bookings: [purchase(userId, 4_000_000_000_000_000)] });
    expect(await harness.balanceOf(userId)).toBe(2_147_483_648);
    await harness.book({ idempotency_key: key(), bookings: [purchase(userId, 2_147_483_648)] });
  });

  test('unknown types, missing bookings and empty keys are refused', async () => {
    const { userId } = harness.person();
    for (const request of [
      { idempotency_key: key(), bookings: [{ user_id: userId, type: 'deposit', amount: 5 }] },
      { idempotency_key: key(), bookings: [{ user_id: 0, type: 'income', amount: 5 }] },
      { idempotency_key: key(), bookings: [] },
      { idempotency_key: '', bookings: [{ user_id: userId, type: 'income', amount: 5 }] },
      { idempotency_key: 'k'.repeat(256), bookings: [{ user_id: userId, type: 'income', amount: 5 }] },
    ])
      await expect(harness.book(request)).rejects.toMatchObject({ kind: 'validation' });
  });
});

describe('what a process may book', () => {
  const book = (from: 'content' | 'store-billing', bookings: object[], idempotency_key = key()) => {
    const client = testClient('wallet', grpcDefinitions.wallet(), harness.wallet.grpcAddress, { from });
    return client.call('Book', { idempotency_key, bookings }).finally(() => client.close());
  };
  const of = (type: string) => (user_id: number, amount: number) => ({ user_id, type, amount });
  const [income, commission] = [of('income'), of('commission')];
  /** Everything that a booking can change. */
  const stored = async (...userIds: number[]) => [
    await Promise.all(userIds.map((userId) => harness.balanceOf(userId))),
    await harness.connection.collection('payments').countDocuments({ user_id: { $in: userIds } }),
  ];

  test('content books a sale that adds up, and nothing else', async () => {
    const [buyer, seller, other] = [harness.person(), harness.person(), harness.person()].map(
      ({ userId }) => userId,
    ) as [number, number, number];
    await harness.give(buyer, 1_000);
    const before = await stored(buyer, seller, other);
    for (const bookings of [
      [income(seller, 100)],
      [purchase(buyer, 100)],
      [commission(buyer, 100)],
      [purchase(buyer, 100), income(seller, 101)],
      [purchase(buyer, 100), income(seller, 99)],
      [purchase(buyer, 100), income(seller, 100), income(other, 100)],
      [purchase(buyer, 50), purchase(buyer, 50), income(seller, 100)],
      [purchase(buyer, 100), income(seller, 100), commission(seller, 101)],
      [purchase(buyer, 100), income(seller, 100), commission(other, 10)],
      [purchase(buyer, 100), income(seller, 100), commission(seller, 5), commission(seller, 5)],
    ])
      await expect(book('content', bookings)).rejects.toMatchObject({ kind: 'forbidden' });
    expect(await stored(buyer, seller, other)).toEqual(before);
    await book('content', [purchase(buyer, 100), income(seller, 100), commission(seller, 100)]);
    await book('content', [purchase(buyer, 100), income(seller, 100)]);
    expect([await harness.balanceOf(buyer), await harness.balanceOf(seller)]).toEqual([800, 100]);
  });

  test('store-billing books its purchases and returns each of them at most once', async () => {
    const [buyer, other] = [harness.person().userId, harness.person().userId];
    await harness.give(buyer, 1_000);
    const [bought, sold] = [key(), key()];
    await book('store-billing', [purchase(buyer, 300)], bought);
    await book('content', [purchase(buyer, 100), income(other, 100)], sold);
    const before = await stored(buyer, other);
    for (const [bookings, refundKey] of [
      [[income(buyer, 300)], key()],
      [[income(buyer, 300)], bought],
      [[income(buyer, 300)], `unknown:refund`],
      [[income(buyer, 301)], `${bought}:refund`],
      [[income(other, 300)], `${bought}:refund`],
      [[income(buyer, 100)], `${sold}:refund`],
      [[income(buyer, 300), income(buyer, 300)], `${bought}:refund`],
      [[purchase(buyer, 100), income(other, 100)], key()],
      [[commission(buyer, 100)], key()],
    ] as const)
      await expect(book('store-billing', [...bookings], refundKey)).rejects.toMatchObject({
        kind: 'forbidden',
      });
    expect(await stored(buyer, other)).toEqual(before);
    const answers = await together(10, () => book('store-billing', [income(buyer, 300)], `${bought}:refund`));
    expect(answers.filter(({ replayed }) => !replayed)).toHaveLength(1);
    await expect(
      book('store-billing', [income(buyer, 300)], `${bought}:refund:refund`),
    ).rejects.toMatchObject({ kind: 'forbidden' });
    expect(await harness.balanceOf(buyer)).toBe(900);
  });

  test('the audit finds an income that no purchase pays', async () => {
    const { userId } = harness.person();
    const id = await harness.give(userId, 500);
    const entries = harness.connection.collection('ledger_entries');
    const entry = await entries.findOne({ payment_ids: id });
    const payments = harness.connection.collection('payments');
    const bookings = { _id: { $in: entry?.payment_ids } };
    expect((await harness.inspect()).difference).toBeUndefined();
    const [first] = entry?.payment_ids ?? [];
    const before = await payments.find(bookings).toArray();
    await payments.updateOne({ _id: first }, { $set: { type: 'commission' } });
    expect((await harness.inspect()).difference).toBe(
      `entry ${entry?._id} has an income that no purchase pays`,
    );
    await payments.updateOne({ _id: first }, { $set: { type: 'purchase' } });
    expect(await payments.find(bookings).toArray()).toEqual(before);
  });
});

describe('values past 2^53', () => {
  const MAX = Number.MAX_SAFE_INTEGER;

  test('a credit above the balance limit is refused and changes nothing', async () => {
    const { userId } = harness.person();
    await harness.fund(userId, MAX);
    const bookings = [purchase(await harness.buyer(), 1), { user_id: userId, type: 'income', amount: 1 }];
    const income = { idempotency_key: key(), bookings };
    await expect(harness.book(income)).rejects.toMatchObject({
      kind: 'bad_request',
      code: 'payments.balance_limit',
    });
    expect(await harness.balanceOf(userId)).toBe(MAX);
    await harness.book({ idempotency_key: key(), bookings: [purchase(userId, MAX)] });
    expect(await harness.balanceOf(userId)).toBe(0);
    // The refused booking has freed its key.
    expect(await harness.book(income)).toMatchObject({ replayed: false });
    expect(await harness.balanceOf(userId)).toBe(1);
  });

  test('bookings whose total is not exact are refused as a whole', async () => {
    const [one, other] = [harness.person().userId, harness.person().userId];
    const bookings = [one, other].map((user_id) => ({ user_id, type: 'income', amount: MAX }));
    const refused = harness.book({ idempotency_key: key(), bookings });
    await expect(refused).rejects.toMatchObject({ kind: 'validation' });
    expect([await harness.balanceOf(one), await harness.balanceOf(other)]).toEqual([0, 0]);
  });

  test.each(['9007199254740992', '9007199254740993', '-9007199254740993', '9223372036854775807'])(
    '%s is refused as an id',
    async (value) => {
      for (const booking of [
        { user_id: value, type: 'income', amount: 1 },
        { user_id: harness.person().userId, type: 'income', amount: 1, payable_id: value },
      ])
        await expect(harness.book({ idempotency_key: key(), bookings: [booking] })).rejects.toMatchObject({
          kind: 'validation',
        });
    },
  );
});

describe('races', () => {
  test('twenty concurrent calls with one key book once and have equal responses', async () => {
    const { userId } = harness.person();
    // Enough for one booking: the others must be treated as repeats, not as insufficient.
    await harness.give(userId, 1_000);
    const request = { idempotency_key: key(), bookings: [purchase(userId, 1_000)] };
    const answers = await together(20, () => harness.grpc.call('Book', request));
    expect(new Set(answers.map(({ payment_ids: ids }) => JSON.stringify(ids))).size).toBe(1);
    expect(answers.filter(({ replayed }) => !replayed)).toHaveLength(1);
    expect(await harness.balanceOf(userId)).toBe(0);
  });

  test('twenty concurrent debits spend exactly the balance; rows, payments and balance agree', async () => {
    const { userId } = harness.person();
    await harness.give(userId, 7);
    const codes = await together(20, () =>
      harness.book({ idempotency_key: key(), bookings: [purchase(userId, 1)] }).then(
        () => 'booked',
        (error: { code: string }) => error.code,
      ),
    );
    expect(codes.filter((code) => code === 'booked')).toHaveLength(7);
    expect(codes.filter((code) => code === 'payments.insufficient_balance')).toHaveLength(13);
    expect(await harness.balanceOf(userId)).toBe(0);
    const bought = { user_id: userId, type: 'purchase' };
    expect(await harness.connection.collection('payments').countDocuments(bought)).toBe(7);
    expect((await harness.audit()).difference).toBeUndefined();
  });

  test('one of two inputs with the same key is booked, and every call with the other is refused', async () => {
    const { userId } = harness.person();
    await harness.give(userId, 10_000);
    const idempotency_key = key();
    const outcomes = await together(20, async (index) => {
      const amount = index % 2 === 0 ? 100 : 200;
      return harness.book({ idempotency_key, bookings: [purchase(userId, amount)] }).then(
        () => ({ amount, code: 'booked' }),
        (error: { code: string }) => ({ amount, code: error.code }),
      );
    });
    const spent = 10_000 - (await harness.balanceOf(userId));
    expect([100, 200]).toContain(spent);
    for (const { amount, code } of outcomes)
      expect(code).toBe(amount === spent ? 'booked' : 'validation_failed');
  });

  test('a used key with a different input is refused even when the balance is insufficient', async () => {
    const { userId } = harness.person();
    await harness.give(userId, 100);
    const idempotency_key = key();
    await harness.book({ idempotency_key, bookings: [purchase(userId, 100)] });
    const other = harness.book({ idempotency_key, bookings: [purchase(userId, 99)] });
    await expect(other).rejects.toMatchObject({
      kind: 'validation',
      fields: { idempotency_key: [{ key: 'idempotency.other_body' }] },
    });
  });

  test('twenty concurrent first incomes create one wallet with the whole sum', async () => {
    const { userId } = harness.person();
    await together(20, () => harness.give(userId, 1));
    expect(await harness.balanceOf(userId)).toBe(20);
  });

  test('concurrent sales in both directions between two users all succeed', async () => {
    const [one, other] = [harness.person().userId, harness.person().userId];
    await Promise.all([harness.give(one, 10_000), harness.give(other, 10_000)]);
    await together(20, (index) => {
      const [buyer, seller] = index % 2 === 0 ? [one, other] : [other, one];
      return harness.book({
        idempotency_key: key(),
        bookings: [purchase(buyer, 100), { user_id: seller, type: 'income', amount: 100 }],
      });
    });
    expect([await harness.balanceOf(one), await harness.balanceOf(other)]).toEqual([10_000, 10_000]);
  });
});

describe('GetRates', () => {
  test('the rates are the configured ones', async () => {
    expect(await harness.grpc.call('GetRates', {})).toEqual({
      gateway_fee_percent: 1,
      commission_percent: 10,
      vat_percent: 0,
    });
  });
});

test('the audit finds no difference after these tests', async () => {
  expect((await harness.audit()).difference).toBeUndefined();
});
