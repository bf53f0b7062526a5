/** Money that reaches an erased account is credited to nobody, listed for operators, and returned by them. */
import { randomUUID } from 'node:crypto';
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { atTheBank, eraseAccount, type Harness, OPERATOR, startHarness, together } from './support.ts';

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
});
afterEach(async () => {
  expect((await harness.audit()).difference).toBeUndefined();
});
afterAll(() => harness.close());

const erase = async (userId: number): Promise<void> => {
  await eraseAccount(harness, userId);
  harness.erase(userId);
};

interface Opened {
  as: UserCaller;
  id: number;
  trackId: string;
  callback: string;
}

const paid = async (as = harness.person(), amount = 20_000): Promise<Opened> => {
  const { body } = await harness.send('POST', '/payments/deposit', { as, body: { amount } });
  const callback = await atTheBank(harness, body.payment_url, 'pay');
  return { as, id: body.payment.id, trackId: body.payment_url.split('/').at(-1), callback };
};

const atGateway = async (call: 'verify' | 'inquiry', trackId: string): Promise<{ status: number }> => {
  const answer = await fetch(`${harness.sandboxUrl}/zibal/v1/${call}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ merchant: 'zibal', trackId: Number(trackId) }),
  });
  return (await answer.json()) as { status: number };
};

const stored = (id: number) => harness.connection.collection('payments').findOne({ _id: id as never });
const resolve = (id: number, outcome: 'credited' | 'returned', note = 'Sent back to the card') =>
  harness.send('POST', `/payments/${id}/resolve`, { as: OPERATOR, body: { outcome, note } });
const listed = async (userId: number) => {
  const path = `/payments/deposit/disputed?user_id=${userId}`;
  return (await harness.send('GET', path, { as: OPERATOR })).body.data;
};
const heldInAll = async (): Promise<bigint> => (await harness.audit()).accounts.erased_credits;

/** The case is listed, cannot be credited, and is closed once. `booked`: what leaves the ledger with it. */
const closesAsReturned = async (userId: number, id: number, booked: number): Promise<void> => {
  const before = await heldInAll();
  const [row, ...others] = await listed(userId);
  expect([row.payment.id, row.payment.is_done, row.is_payer_erased, others]).toEqual([id, false, true, []]);
  const refused = await resolve(id, 'credited');
  expect([refused.status, refused.body]).toEqual([
    409,
    {
      message:
        'The account of the payer is erased, so the case is closed as returned. Return the money first, unless the payer had ' +
        'spent it before a restore.',
    },
  ]);
  const action = { action: 'deposit.resolve_refused', subject_id: id };
  expect(await harness.connection.collection('audit_entries').countDocuments(action)).toBe(1);
  const closed = await resolve(id, 'returned');
  expect([closed.status, closed.body.payment.is_done]).toEqual([200, false]);
  expect(closed.body.payment.meta.resolution).toMatchObject({ outcome: 'returned' });
  expect((await resolve(id, 'returned')).status).toBe(200);
  expect((await resolve(id, 'returned', 'Another note')).status).toBe(409);
  expect(await listed(userId)).toEqual([]);
  expect(await harness.balanceOf(userId)).toBe(0);
  expect(before - (await heldInAll())).toBe(BigInt(booked));
};

describe('a deposit of an erased payer', () => {
  test('the deposit is not verified by the callback or the sweep, so the gateway returns the money', async () => {
    const { as, id, trackId, callback } = await paid();
    await erase(as.userId);
    expect((await harness.send('GET', callback)).body.payment.is_done).toBe(false);
    const due = { $set: { 'gateway.check_at': new Date(0) } };
    await harness.connection.collection('payments').updateOne({ _id: id as never }, due);
    expect(await harness.wallet.sweepDeposits()).toEqual({ verified: 1, credited: 0 });
    // Paid, but not verified.
    expect((await atGateway('inquiry', trackId)).status).toBe(2);
    expect([await harness.balanceOf(as.userId), await listed(as.userId)]).toEqual([0, []]);
    expect((await resolve(id, 'returned')).status).toBe(409);
  });

  test('the deposit is disputed if it was verified before, and is not booked', async () => {
    const { as, id, trackId, callback } = await paid();
    // The process died between the verification and the commit.
    await atGateway('verify', trackId);
    await erase(as.userId);
    await harness.send('GET', callback);
    expect((await stored(id))?.gateway).toMatchObject({ state: 'mismatch', reported: { card_number: null } });
    await closesAsReturned(as.userId, id, 0);
  });
});

describe('a disputed deposit of a payer who is erased', () => {
  const disputed = async (): Promise<Opened> => {
    const deposit = await paid();
    const reported = {
      amount_rial: 202_000,
      order_id: 'x',
      ref_number: '1',
      card_number: null,
      paid_at: null,
    };
    const fields = { 'gateway.state': 'mismatch', 'gateway.check_at': null, 'gateway.reported': reported };
    await harness.connection.collection('payments').updateOne({ _id: deposit.id as never }, { $set: fields });
    return deposit;
  };

  test('it cannot be credited although the wallet has not heard of the erasure yet', async () => {
    const { as, id } = await disputed();
    harness.erase(as.userId);
    await closesAsReturned(as.userId, id, 0);
  });

  test('what an operator credited before is decided again', async () => {
    const { as, id } = await disputed();
    expect((await resolve(id, 'credited')).status).toBe(200);
    await erase(as.userId);
    await harness.wallet.sweepDeposits();
    const { body } = await harness.send('GET', `/payments/${id}`, { as: OPERATOR });
    expect([body.payment.is_done, body.payment.meta.resolution]).toEqual([false, undefined]);
    await closesAsReturned(as.userId, id, 20_000);
  });
});

test('the balance after a restore is not held, whichever event of the erasure comes first', async () => {
  const { as, callback } = await paid();
  await harness.send('GET', callback);
  await erase(as.userId);
  await eraseAccount(harness, as.userId, { isRepeated: true });
  await harness.wallet.sweepDeposits();
  const { userId } = as;
  expect((await harness.audit()).erasedWithBalance).toEqual([{ userId, balance: 20_000 }]);
  await harness.book({
    idempotency_key: randomUUID(),
    bookings: [{ user_id: userId, type: 'purchase', amount: 20_000 }],
  });
});

describe('a credit that was booked before the wallet heard of the erasure', () => {
  test('the credit is named by the audit, then taken out of the balance and disputed', async () => {
    const { as, id, callback } = await paid();
    await harness.send('GET', callback);
    await erase(as.userId);
    const { erasedWithBalance } = await harness.audit();
    expect(erasedWithBalance).toEqual([{ userId: as.userId, balance: 20_000 }]);
    await together(4, () => harness.wallet.sweepDeposits());
    expect((await harness.audit()).erasedWithBalance).toEqual([]);
    expect((await stored(id))?.gateway).toMatchObject({
      state: 'mismatch',
      reported: { amount_rial: 202_000, card_number: null },
    });
    await closesAsReturned(as.userId, id, 20_000);
  });

  test('only a credit that is whole in the balance is disputed, and the audit names the rest', async () => {
    const first = await paid();
    await harness.send('GET', first.callback);
    const body = { amount: 15_000 };
    const withdrawal = await harness.send('POST', '/payments/withdrawals', { as: first.as, body });
    await harness.send('POST', `/payments/${withdrawal.body.payment.id}/pay`, { as: OPERATOR, body: {} });
    const second = await paid(first.as);
    await harness.send('GET', second.callback);
    const { userId } = first.as;
    await erase(userId);
    await harness.wallet.sweepDeposits();
    expect(await harness.balanceOf(userId)).toBe(5_000);
    expect((await harness.audit()).erasedWithBalance).toEqual([{ userId, balance: 5_000 }]);
    const list = await harness.send('GET', '/payments/deposit/disputed', { as: OPERATOR });
    expect(list.body.erased_balances).toEqual([{ user_id: userId, balance: 5_000 }]);
    expect((await listed(userId)).map(({ payment }: { payment: { id: number } }) => payment.id)).toEqual([
      second.id,
    ]);
    // The rest leaves the balance for the other tests.
    const bookings = [{ user_id: userId, type: 'purchase', amount: 5_000 }];
    await harness.book({ idempotency_key: randomUUID(), bookings });
    await closesAsReturned(userId, second.id, 20_000);
  });

  test('a credit that was spent in part leaves older ones alone', async () => {
    const { as, callback } = await paid(undefined, 5_000);
    await harness.send('GET', callback);
    const { userId } = as;
    await harness.send('GET', (await paid(as)).callback);
    const spent = [{ user_id: userId, type: 'purchase', amount: 20_000 }];
    await harness.book({ idempotency_key: randomUUID(), bookings: spent });
    await erase(userId);
    await harness.wallet.sweepDeposits();
    expect([await harness.balanceOf(userId), await listed(userId)]).toEqual([5_000, []]);
    const rest = [{ user_id: userId, type: 'purchase', amount: 5_000 }];
    await harness.book({ idempotency_key: randomUUID(), bookings: rest });
  });

  test('a credit that cannot be held yet delays no deposit of others', async () => {
    const { as, id, callback } = await paid();
    await harness.send('GET', callback);
    await erase(as.userId);
    const entries = harness.connection.collection('ledger_entries');
    // An entry that is sealed already has the key.
    const taken = { _id: `held:${id}` as never };
    await entries.insertOne({ ...taken, payment_ids: [], rows: [], seal: 1_000 });
    const other = await paid();
    const due = { $set: { 'gateway.check_at': new Date(0) } };
    await harness.connection.collection('payments').updateOne({ _id: other.id as never }, due);
    expect(await harness.wallet.sweepDeposits()).toEqual({ verified: 1, credited: 1 });
    expect(await harness.balanceOf(as.userId)).toBe(20_000);
    await entries.deleteOne(taken);
    await harness.wallet.sweepDeposits();
    await closesAsReturned(as.userId, id, 20_000);
  });

  test('nothing is credited and nothing is lost, whichever of callback and event comes first', async () => {
    for (let round = 0; round < 12; round += 1) {
      const { as, id, trackId, callback } = await paid();
      const calls = () => harness.send('GET', callback);
      await Promise.all([...(round % 2 === 0 ? [calls(), calls()] : []), erase(as.userId), calls(), calls()]);
      await harness.wallet.sweepDeposits();
      expect(await harness.balanceOf(as.userId)).toBe(0);
      const isVerified = (await atGateway('inquiry', trackId)).status === 1;
      expect((await stored(id))?.is_done).toBe(false);
      expect((await listed(as.userId)).length).toBe(isVerified ? 1 : 0);
      expect((await harness.audit()).difference).toBeUndefined();
      if (isVerified) expect((await resolve(id, 'returned')).status).toBe(200);
    }
    expect((await harness.audit()).erasedWithBalance).toEqual([]);
  });
});

describe('what is booked for an erased account', () => {
  test('an income of a sale is held, less its commission', async () => {
    const [buyer, seller] = [await paid(), harness.person()];
    await harness.send('GET', buyer.callback);
    await erase(seller.userId);
    const sale = {
      idempotency_key: randomUUID(),
      bookings: [
        { user_id: buyer.as.userId, type: 'purchase', amount: 10_000 },
        { user_id: seller.userId, type: 'income', amount: 10_000, description: 'Plan by Sara' },
        { user_id: seller.userId, type: 'commission', amount: 1_000 },
      ],
    };
    const { payment_ids: ids } = await harness.book(sale);
    expect(await harness.book(sale)).toEqual({ payment_ids: ids, replayed: true });
    const [, income = 0, commission = 0] = ids;
    expect(await stored(income)).toMatchObject({ is_done: false, description: null });
    expect((await stored(commission))?.is_done).toBe(false);
    expect([await harness.balanceOf(buyer.as.userId), await harness.balanceOf(seller.userId)]).toEqual([
      10_000, 0,
    ]);
    await closesAsReturned(seller.userId, income, 9_000);
  });

  test('a refund is held', async () => {
    const { as, callback } = await paid();
    await harness.send('GET', callback);
    const idempotency_key = randomUUID();
    const { userId } = as;
    const [purchase, refund] = ['purchase', 'income'].map((type) => [
      { user_id: userId, type, amount: 20_000 },
    ]);
    await harness.book({ idempotency_key, bookings: purchase ?? [] });
    await erase(userId);
    const { payment_ids: ids } = await harness.book({
      idempotency_key: `${idempotency_key}:refund`,
      bookings: refund ?? [],
    });
    await closesAsReturned(userId, ids[0] ?? 0, 20_000);
  });
});
