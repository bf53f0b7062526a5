import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startWorld, together, type World } from './support.ts';

let world: World;
let keys = 0;
const key = (): string => {
  keys += 1;
  return `key-${keys}`;
};

const purchase = (userId: number, amount: number) => ({ user_id: userId, type: 'purchase', amount });

beforeAll(async () => {
  world = await startWorld();
});

afterAll(() => world.close());

describe('Book', () => {
  test('books a sale in one go: purchase, income and commission, with rows that add up to zero', async () => {
    const [buyer, seller] = [world.person().userId, world.person().userId];
    await world.give(buyer, 100_000);
    const answer = await world.grpc.call('Book', {
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
    expect(await world.balanceOf(buyer)).toBe(40_000);
    expect(await world.balanceOf(seller)).toBe(54_000);
    const entry = await world.connection
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
    const payment = await world.connection
      .collection('payments')
      .findOne({ _id: answer.payment_ids[0] as never });
    expect(payment).toMatchObject({ user_id: buyer, type: 'purchase', is_done: true, payable_id: 7 });
  });

  test('tells of every payment that it booked, once, when it is sealed', async () => {
    const { userId } = world.person();
    const id = await world.give(userId, 5_000);
    await together(5, () => world.wallet.sealLedger());
    const told = ({ data }: { data: unknown }) =>
      (data as { payments?: { payment_id: number }[] }).payments ?? [];
    const matches = (event: { data: unknown }) => told(event).some(({ payment_id }) => payment_id === id);
    const event = await world.tap.waitFor('wallet.ledger.sealed', { matches });
    const mine = told(event).filter(({ payment_id }) => payment_id === id);
    expect(mine).toEqual([{ payment_id: id, user_id: userId, type: 'income', amount: 5_000 }]);
    expect(world.tap.events.filter(matches)).toHaveLength(1);
  });

  test('refuses what a wallet does not hold, and books nothing of it', async () => {
    const [buyer, seller] = [world.person().userId, world.person().userId];
    await world.give(buyer, 999);
    const refused = world.grpc.call('Book', {
      idempotency_key: key(),
      bookings: [{ user_id: seller, type: 'income', amount: 1_000 }, purchase(buyer, 1_000)],
    });
    await expect(refused).rejects.toMatchObject({
      kind: 'bad_request',
      code: 'payments.insufficient_balance',
    });
    expect(await world.balanceOf(buyer)).toBe(999);
    expect(await world.balanceOf(seller)).toBe(0);
    expect(await world.connection.collection('payments').countDocuments({ user_id: seller })).toBe(0);
  });

  test('a refused booking leaves its key free: it succeeds once the money is there', async () => {
    const { userId } = world.person();
    const request = { idempotency_key: key(), bookings: [purchase(userId, 500)] };
    await expect(world.book(request)).rejects.toMatchObject({ code: 'payments.insufficient_balance' });
    await world.give(userId, 500);
    expect(await world.book(request)).toMatchObject({ replayed: false });
    expect(await world.balanceOf(userId)).toBe(0);
  });

  test('the same key with another input is a conflict and changes nothing', async () => {
    const { userId } = world.person();
    await world.give(userId, 1_000);
    const idempotency_key = key();
    await world.book({ idempotency_key, bookings: [purchase(userId, 100)] });
    for (const bookings of [
      [purchase(userId, 101)],
      [{ ...purchase(userId, 100), payable_id: 1 }],
      [{ ...purchase(userId, 100), description: '' }],
      [purchase(userId, 100), purchase(userId, 100)],
    ]) {
      await expect(world.book({ idempotency_key, bookings })).rejects.toMatchObject({
        kind: 'conflict',
        code: 'idempotency.other_input',
      });
    }
    expect(await world.balanceOf(userId)).toBe(900);
  });

  test('amounts that a double does not hold exactly are refused, not rounded', async () => {
    const { userId } = world.person();
    for (const amount of ['9007199254740993', '9223372036854775807', 0, -5]) {
      const refused = world.book({
        idempotency_key: key(),
        bookings: [{ user_id: userId, type: 'income', amount }],
      });
      await expect(refused).rejects.toMatchObject({ kind: 'validation' });
    }
    expect(await world.balanceOf(userId)).toBe(0);
  });

  test('large amounts stay exact to the last Tooman', async () => {
    const { userId } = world.person();
    await world.give(userId, 4_000_000_000_000_001);
    await world.give(userId, 2_147_483_647);
    await world.book({ idempotency_key: key(), bookings: [purchase(userId, 4_000_000_000_000_000)] });
    expect(await world.balanceOf(userId)).toBe(2_147_483_648);
    await world.book({ idempotency_key: key(), bookings: [purchase(userId, 2_147_483_648)] });
  });

  test('types that others do not book, empty sets and empty keys are refused', async () => {
    const { userId } = world.person();
    for (const request of [
      { idempotency_key: key(), bookings: [{ user_id: userId, type: 'deposit', amount: 5 }] },
      { idempotency_key: key(), bookings: [{ user_id: 0, type: 'income', amount: 5 }] },
      { idempotency_key: key(), bookings: [] },
      { idempotency_key: '', bookings: [{ user_id: userId, type: 'income', amount: 5 }] },
      { idempotency_key: 'k'.repeat(256), bookings: [{ user_id: userId, type: 'income', amount: 5 }] },
    ])
      await expect(world.book(request)).rejects.toMatchObject({ kind: 'validation' });
  });
});

describe('values past 2^53', () => {
  const MAX = Number.MAX_SAFE_INTEGER;

  test('a wallet that would grow past what is exact refuses, and keeps what it has', async () => {
    const { userId } = world.person();
    await world.give(userId, MAX);
    const income = { idempotency_key: key(), bookings: [{ user_id: userId, type: 'income', amount: 1 }] };
    await expect(world.book(income)).rejects.toMatchObject({
      kind: 'bad_request',
      code: 'payments.balance_limit',
    });
    expect(await world.balanceOf(userId)).toBe(MAX);
    await world.book({ idempotency_key: key(), bookings: [purchase(userId, MAX)] });
    expect(await world.balanceOf(userId)).toBe(0);
    // The refusal has left the key free.
    expect(await world.book(income)).toMatchObject({ replayed: false });
    expect(await world.balanceOf(userId)).toBe(1);
  });

  test('bookings whose total is not exact are refused as a whole', async () => {
    const [one, other] = [world.person().userId, world.person().userId];
    const bookings = [one, other].map((user_id) => ({ user_id, type: 'income', amount: MAX }));
    const refused = world.book({ idempotency_key: key(), bookings });
    await expect(refused).rejects.toMatchObject({ kind: 'validation' });
    expect([await world.balanceOf(one), await world.balanceOf(other)]).toEqual([0, 0]);
  });

  test.each(['9007199254740992', '9007199254740993', '-9007199254740993', '9223372036854775807'])(
    '%s is refused where an id is asked for, too',
    async (value) => {
      for (const booking of [
        { user_id: value, type: 'income', amount: 1 },
        { user_id: world.person().userId, type: 'income', amount: 1, payable_id: value },
      ])
        await expect(world.book({ idempotency_key: key(), bookings: [booking] })).rejects.toMatchObject({
          kind: 'validation',
        });
    },
  );
});

describe('races', () => {
  test('twenty debits at once on one wallet never spend more than it has', async () => {
    const { userId } = world.person();
    await world.give(userId, 7_000);
    const outcomes = await together(20, () =>
      world.book({ idempotency_key: key(), bookings: [purchase(userId, 1_000)] }).then(
        () => 'booked',
        (error: { code: string }) => error.code,
      ),
    );
    expect(outcomes.filter((outcome) => outcome === 'booked')).toHaveLength(7);
    expect(outcomes.filter((outcome) => outcome === 'payments.insufficient_balance')).toHaveLength(13);
    expect(await world.balanceOf(userId)).toBe(0);
    expect(
      await world.connection.collection('payments').countDocuments({ user_id: userId, type: 'purchase' }),
    ).toBe(7);
  });

  test('twenty calls at once with one key book once and give twenty equal answers', async () => {
    const { userId } = world.person();
    // Exactly enough for one: the others must be answered as repeats, not as too poor.
    await world.give(userId, 1_000);
    const request = { idempotency_key: key(), bookings: [purchase(userId, 1_000)] };
    const answers = await together(20, () => world.grpc.call('Book', request));
    expect(new Set(answers.map(({ payment_ids: ids }) => JSON.stringify(ids))).size).toBe(1);
    expect(answers.filter(({ replayed }) => !replayed)).toHaveLength(1);
    expect(await world.balanceOf(userId)).toBe(0);
  });

  test('fifty debits at once on one hot wallet: as many as it can pay, and rows, payments and balance agree', async () => {
    const { userId } = world.person();
    await world.give(userId, 30);
    const codes = await together(50, () =>
      world.book({ idempotency_key: key(), bookings: [purchase(userId, 1)] }).then(
        () => 'booked',
        (error: { code: string }) => error.code,
      ),
    );
    expect(codes.filter((code) => code === 'booked')).toHaveLength(30);
    expect(codes.filter((code) => code === 'payments.insufficient_balance')).toHaveLength(20);
    expect(await world.balanceOf(userId)).toBe(0);
    expect((await world.audit()).difference).toBeUndefined();
  });

  test('twenty calls with one key and two inputs: one input is booked, every call with the other is refused', async () => {
    const { userId } = world.person();
    await world.give(userId, 10_000);
    const idempotency_key = key();
    const outcomes = await together(20, async (index) => {
      const amount = index % 2 === 0 ? 100 : 200;
      return world.book({ idempotency_key, bookings: [purchase(userId, amount)] }).then(
        () => ({ amount, code: 'booked' }),
        (error: { code: string }) => ({ amount, code: error.code }),
      );
    });
    const spent = 10_000 - (await world.balanceOf(userId));
    expect([100, 200]).toContain(spent);
    for (const { amount, code } of outcomes)
      expect(code).toBe(amount === spent ? 'booked' : 'idempotency.other_input');
  });

  test('a repeat with another input is refused as such even by a wallet that the first has emptied', async () => {
    const { userId } = world.person();
    await world.give(userId, 100);
    const idempotency_key = key();
    await world.book({ idempotency_key, bookings: [purchase(userId, 100)] });
    const other = world.book({ idempotency_key, bookings: [purchase(userId, 99)] });
    await expect(other).rejects.toMatchObject({ kind: 'conflict', code: 'idempotency.other_input' });
  });

  test('twenty first incomes at once open one wallet and lose none', async () => {
    const { userId } = world.person();
    await together(20, () => world.give(userId, 1));
    expect(await world.balanceOf(userId)).toBe(20);
  });

  test('sales that cross between two users all go through', async () => {
    const [one, other] = [world.person().userId, world.person().userId];
    await Promise.all([world.give(one, 10_000), world.give(other, 10_000)]);
    await together(20, (index) => {
      const [buyer, seller] = index % 2 === 0 ? [one, other] : [other, one];
      return world.book({
        idempotency_key: key(),
        bookings: [purchase(buyer, 100), { user_id: seller, type: 'income', amount: 100 }],
      });
    });
    expect([await world.balanceOf(one), await world.balanceOf(other)]).toEqual([10_000, 10_000]);
  });
});

describe('GetBalances and GetRates', () => {
  test('a user without a wallet has 0, and the order is that of the question', async () => {
    const rich = world.person().userId;
    await world.give(rich, 3);
    const { balances } = await world.grpc.call('GetBalances', { user_ids: [999_999, rich] });
    expect(balances).toEqual([
      { user_id: 999_999, balance: 0 },
      { user_id: rich, balance: 3 },
    ]);
  });

  test('the rates are those of the configuration', async () => {
    expect(await world.grpc.call('GetRates', {})).toEqual({
      gateway_fee_percent: 1,
      commission_percent: 10,
      vat_percent: 0,
    });
  });
});

test('after all of this the audit finds nothing', async () => {
  expect((await world.audit()).difference).toBeUndefined();
});
