import { accountDeleted } from '@fitness/proto/events/identity.ts';
import { storePurchaseGranted } from '@fitness/proto/events/store-billing.ts';
import { eventually } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { atTheBank, type Harness, OPERATOR, startHarness, together } from './support.ts';

let harness: Harness;

beforeAll(async () => {
  harness = await startHarness({ VAT_PERCENT: 10 });
});

afterAll(() => harness.close());

const grant = (userId: number, storePurchaseId: number) => ({
  store_purchase_id: storePurchaseId,
  user_id: userId,
  channel: 'cafebazaar',
  product_id: 'premium_plus',
  amount: 1_999_000,
  payable_type: 'App\\Models\\Payments\\UserPremiumSubscription',
  payable_id: 11,
});

const paymentsOf = (userId: number) =>
  harness.connection.collection('payments').find({ user_id: userId }).toArray();

const handled = (eventId: string) =>
  eventually(async () => (await harness.connection.collection('inbox').countDocuments({ eventId })) === 1);

describe('store_billing.store_purchase.granted', () => {
  test('a store purchase records one payment in the history and does not change the balance', async () => {
    const as = harness.person();
    await harness.give(as.userId, 500);
    await handled(await harness.publish(storePurchaseGranted, grant(as.userId, 1)));
    const { body } = await harness.send('GET', '/payments?type=store_purchase', { as });
    expect(body.data).toHaveLength(1);
    expect(body.data[0]).toMatchObject({
      type: 'store_purchase',
      amount: 1_999_000,
      payable_type: 'App\\Models\\Payments\\UserPremiumSubscription',
      payable_id: 11,
      meta: { channel: 'cafebazaar', product_id: 'premium_plus' },
      is_done: true,
    });
    expect(await harness.balanceOf(as.userId)).toBe(500);
    const { id } = body.data[0];
    const matches = ({ subject }: { subject: string }) => subject === String(id);
    expect((await harness.tap.waitFor('wallet.payment.booked', { matches })).data).toMatchObject({
      type: 'store_purchase',
    });
  });

  test('a VAT rate adds the tax contained in the price to the meta, and the rows book it', async () => {
    const as = harness.person();
    await handled(await harness.publish(storePurchaseGranted, grant(as.userId, 5)));
    const { body } = await harness.send('GET', '/payments', { as });
    const [{ id, meta }] = body.data;
    const vat = { vat_percent: 10, vat_amount: 181_727 };
    expect(meta).toEqual({ channel: 'cafebazaar', product_id: 'premium_plus', ...vat });
    const entry = await harness.connection.collection('ledger_entries').findOne({ payment_ids: id });
    expect(entry?.rows).toContainEqual({ account: 'vat', amount: vat.vat_amount });
  });

  test('an unpaid purchase is in the history with the amount 0, and moves no money', async () => {
    const as = harness.person();
    await handled(await harness.publish(storePurchaseGranted, { ...grant(as.userId, 6), amount: 0 }));
    const { body } = await harness.send('GET', '/payments', { as });
    expect(body.data).toMatchObject([{ type: 'store_purchase', amount: 0, is_done: true }]);
    const { id } = body.data[0];
    const entry = await harness.connection.collection('ledger_entries').findOne({ payment_ids: id });
    expect(entry?.rows).toEqual([]);
  });

  test('an event delivered twenty times is booked once', async () => {
    const { userId } = harness.person();
    const id = crypto.randomUUID();
    await together(20, () => harness.publish(storePurchaseGranted, grant(userId, 2), { id }));
    await handled(id);
    // Events are handled in order: once a later event is handled, so is every delivery.
    await handled(await harness.publish(storePurchaseGranted, grant(harness.person().userId, 3)));
    expect(await paymentsOf(userId)).toHaveLength(1);
  });

  test('one purchase in several events is booked once', async () => {
    const { userId } = harness.person();
    const eventIds = await together(5, () => harness.publish(storePurchaseGranted, grant(userId, 4)));
    for (const id of eventIds) await handled(id);
    expect(await paymentsOf(userId)).toHaveLength(1);
  });
});

describe('identity.account.deleted', () => {
  test('an erasure removes personal data from the payments and keeps the amounts', async () => {
    const as = harness.person();
    const headers = { 'idempotency-key': 'erased' };
    const body = { amount: 5_000, description: 'For Sara' };
    const opened = await harness.send('POST', '/payments/deposit', { as, body, headers });
    await harness.send('GET', await atTheBank(harness, opened.body.payment_url, 'pay'));
    await harness.send('POST', '/payments/withdrawals', { as, body: { amount: 100, description: 'Mine' } });
    const bystander = harness.person();
    await harness.grpc.call('Book', {
      idempotency_key: 'bystander',
      bookings: [
        { user_id: await harness.buyer(), type: 'purchase', amount: 5 },
        { user_id: bystander.userId, type: 'income', amount: 5, description: 'Kept' },
      ],
    });
    await handled(
      await harness.publish(accountDeleted, { user_id: as.userId, deleted_at: '2026-01-15 10:00:00' }),
    );
    harness.erase(as.userId);
    const stored = await paymentsOf(as.userId);
    expect(stored.map(({ amount, description }) => [amount, description])).toEqual([
      [5_000, null],
      [100, null],
    ]);
    expect(stored[0]?.meta).toMatchObject({ amount: 5_000, card_number: null, charged_rial: 50_500 });
    expect(stored[0]?.meta.ref_number).not.toBeNull();
    const keys = harness.connection.collection('idempotency_keys');
    expect(await keys.countDocuments({ user_id: as.userId })).toBe(0);
    expect((await paymentsOf(bystander.userId))[0]?.description).toBe('Kept');
    const shown = await harness.send('GET', `/payments?user_id=${as.userId}`, { as: OPERATOR });
    expect(shown.status).toBe(200);
    for (const { user } of shown.body.data)
      expect(user).toMatchObject({ id: as.userId, first_name: '', last_name: '' });
  });

  test('a deposit paid after the erasure is not verified, so the gateway returns the money, and stores no personal data', async () => {
    const as = harness.person();
    const opened = await harness.send('POST', '/payments/deposit', {
      as,
      body: { amount: 5_000, description: 'For Sara' },
    });
    const callback = await atTheBank(harness, opened.body.payment_url, 'pay');
    await handled(
      await harness.publish(accountDeleted, { user_id: as.userId, deleted_at: '2026-01-15 10:00:00' }),
    );
    await harness.send('GET', callback);
    const [stored] = await paymentsOf(as.userId);
    expect(stored).toMatchObject({ is_done: false, description: null, gateway: { state: 'open' } });
    expect(stored?.meta).not.toHaveProperty('card_number');
    expect(await harness.balanceOf(as.userId)).toBe(0);
  });

  test('a pending deposit or withdrawal of an erased account is refused, and nothing is stored', async () => {
    const as = harness.person();
    await harness.give(as.userId, 500);
    await handled(
      await harness.publish(accountDeleted, { user_id: as.userId, deleted_at: '2026-01-15 10:00:00' }),
    );
    const before = await paymentsOf(as.userId);
    const body = { amount: 5_000, description: 'For Sara' };
    const headers = { 'idempotency-key': 'too-late' };
    const deposit = await harness.send('POST', '/payments/deposit', { as, body, headers });
    const withdrawal = await harness.send('POST', '/payments/withdrawals', {
      as,
      body: { ...body, amount: 100 },
    });
    expect([deposit.status, withdrawal.status]).toEqual([403, 403]);
    expect(await paymentsOf(as.userId)).toEqual(before);
    expect(await harness.balanceOf(as.userId)).toBe(500);
    const keys = harness.connection.collection('idempotency_keys');
    expect(await keys.countDocuments({ user_id: as.userId })).toBe(0);
  });

  test('a sale of an erased account credits nobody and stores no personal data', async () => {
    const [seller, buyer] = [harness.person(), harness.person()];
    await harness.give(buyer.userId, 500);
    await handled(
      await harness.publish(accountDeleted, { user_id: seller.userId, deleted_at: '2026-01-15 10:00:00' }),
    );
    const sale = {
      idempotency_key: 'sale of the erased',
      bookings: [
        { user_id: buyer.userId, type: 'purchase', amount: 500, description: 'Plan by Sara' },
        { user_id: seller.userId, type: 'income', amount: 500, description: 'Plan by Sara' },
        { user_id: seller.userId, type: 'commission', amount: 50, description: 'Plan by Sara' },
      ],
    };
    const booked = await harness.grpc.call('Book', sale);
    expect(await harness.grpc.call('Book', sale)).toEqual({ ...booked, replayed: true });
    expect((await paymentsOf(seller.userId)).map(({ description }) => description)).toEqual([null, null]);
    expect((await paymentsOf(buyer.userId)).map(({ description }) => description)).toContain('Plan by Sara');
    expect(await harness.balanceOf(seller.userId)).toBe(0);
    expect(await harness.balanceOf(buyer.userId)).toBe(0);
  });

  test('sales concurrent with the erasure store no personal data', async () => {
    const as = harness.person();
    await harness.give(as.userId, 1_000);
    const [, erased] = await Promise.all([
      together(20, (index) =>
        harness.grpc.call('Book', {
          idempotency_key: `late sale ${index}`,
          bookings: [{ user_id: as.userId, type: 'purchase', amount: 1, description: 'For Sara' }],
        }),
      ),
      harness.publish(accountDeleted, { user_id: as.userId, deleted_at: '2026-01-15 10:00:00' }),
    ]);
    await handled(erased);
    expect(await harness.balanceOf(as.userId)).toBe(980);
    const described = (await paymentsOf(as.userId)).filter(({ description }) => description !== null);
    expect(described).toEqual([]);
  });

  test('deposits concurrent with the erasure store no personal data', async () => {
    const as = harness.person();
    const body = { amount: 5_000, description: 'For Sara' };
    const [deposits, erased] = await Promise.all([
      together(20, () => harness.send('POST', '/payments/deposit', { as, body })),
      harness.publish(accountDeleted, { user_id: as.userId, deleted_at: '2026-01-15 10:00:00' }),
    ]);
    await handled(erased);
    expect([201, 403, 422]).toEqual(expect.arrayContaining(deposits.map(({ status }) => status)));
    const stored = await paymentsOf(as.userId);
    expect(stored).toHaveLength(deposits.filter(({ status }) => status === 201).length);
    expect(stored.filter(({ description }) => description !== null)).toEqual([]);
  });
});

test('the audit finds no difference after these tests', async () => {
  expect((await harness.audit()).difference).toBeUndefined();
});
