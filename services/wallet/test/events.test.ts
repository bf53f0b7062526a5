import { accountDeleted } from '@fitness/proto/events/identity.ts';
import { storePurchaseGranted } from '@fitness/proto/events/store-billing.ts';
import { eventually } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { atTheBank, OPERATOR, startWorld, together, type World } from './support.ts';

let world: World;

beforeAll(async () => {
  world = await startWorld({ VAT_PERCENT: 10 });
});

afterAll(() => world.close());

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
  world.connection.collection('payments').find({ user_id: userId }).toArray();

const handled = (eventId: string) =>
  eventually(async () => (await world.connection.collection('inbox').countDocuments({ eventId })) === 1);

describe('store_billing.store_purchase.granted', () => {
  test('books one payment in the history and never touches the balance', async () => {
    const as = world.person();
    await world.give(as.userId, 500);
    await handled(await world.publish(storePurchaseGranted, grant(as.userId, 1)));
    const { body } = await world.send('GET', '/payments?type=store_purchase', { as });
    expect(body.data).toHaveLength(1);
    expect(body.data[0]).toMatchObject({
      type: 'store_purchase',
      amount: 1_999_000,
      payable_type: 'App\\Models\\Payments\\UserPremiumSubscription',
      payable_id: 11,
      meta: { channel: 'cafebazaar', product_id: 'premium_plus' },
      is_done: true,
    });
    expect(await world.balanceOf(as.userId)).toBe(500);
    const { id } = body.data[0];
    const matches = ({ subject }: { subject: string }) => subject === String(id);
    expect((await world.tap.waitFor('wallet.payment.booked', { matches })).data).toMatchObject({
      type: 'store_purchase',
    });
  });

  test('with a rate in force its meta shows the tax inside the price, and the rows book it', async () => {
    const as = world.person();
    await handled(await world.publish(storePurchaseGranted, grant(as.userId, 5)));
    const { body } = await world.send('GET', '/payments', { as });
    const [{ id, meta }] = body.data;
    const vat = { vat_percent: 10, vat_amount: 181_727 };
    expect(meta).toEqual({ channel: 'cafebazaar', product_id: 'premium_plus', ...vat });
    const entry = await world.connection.collection('ledger_entries').findOne({ payment_ids: id });
    expect(entry?.rows).toContainEqual({ account: 'vat', amount: vat.vat_amount });
  });

  test('the same event delivered twenty times books once', async () => {
    const { userId } = world.person();
    const id = crypto.randomUUID();
    await together(20, () => world.publish(storePurchaseGranted, grant(userId, 2), { id }));
    await handled(id);
    // What came after it has been handled too, once a later event is.
    await handled(await world.publish(storePurchaseGranted, grant(world.person().userId, 3)));
    expect(await paymentsOf(userId)).toHaveLength(1);
  });

  test('one purchase told by two events is booked once', async () => {
    const { userId } = world.person();
    const eventIds = await together(5, () => world.publish(storePurchaseGranted, grant(userId, 4)));
    for (const id of eventIds) await handled(id);
    expect(await paymentsOf(userId)).toHaveLength(1);
  });
});

describe('identity.account.deleted', () => {
  test('removes what is personal from the payments and keeps the amounts', async () => {
    const as = world.person();
    const headers = { 'idempotency-key': 'erased' };
    const body = { amount: 5_000, description: 'For Sara' };
    const opened = await world.send('POST', '/payments/deposit', { as, body, headers });
    await world.send('GET', await atTheBank(world, opened.body.payment_url, 'pay'));
    await world.send('POST', '/payments/withdrawals', { as, body: { amount: 100, description: 'Mine' } });
    const bystander = world.person();
    await world.grpc.call('Book', {
      idempotency_key: 'bystander',
      bookings: [{ user_id: bystander.userId, type: 'income', amount: 5, description: 'Kept' }],
    });
    await handled(
      await world.publish(accountDeleted, { user_id: as.userId, deleted_at: '2026-01-15 10:00:00' }),
    );
    world.erase(as.userId);
    const stored = await paymentsOf(as.userId);
    expect(stored.map(({ amount, description }) => [amount, description])).toEqual([
      [5_000, null],
      [100, null],
    ]);
    expect(stored[0]?.meta).toMatchObject({ amount: 5_000, card_number: null, charged_rial: 50_500 });
    expect(stored[0]?.meta.ref_number).not.toBeNull();
    const keys = world.connection.collection('idempotency_keys');
    expect(await keys.countDocuments({ user_id: as.userId })).toBe(0);
    expect((await paymentsOf(bystander.userId))[0]?.description).toBe('Kept');
    const shown = await world.send('GET', `/payments?user_id=${as.userId}`, { as: OPERATOR });
    expect(shown.status).toBe(200);
    for (const { user } of shown.body.data)
      expect(user).toMatchObject({ id: as.userId, first_name: '', last_name: '' });
  });

  test('a deposit that is credited after the erasure writes nothing personal down again', async () => {
    const as = world.person();
    const opened = await world.send('POST', '/payments/deposit', {
      as,
      body: { amount: 5_000, description: 'For Sara' },
    });
    const callback = await atTheBank(world, opened.body.payment_url, 'pay');
    await handled(
      await world.publish(accountDeleted, { user_id: as.userId, deleted_at: '2026-01-15 10:00:00' }),
    );
    await world.send('GET', callback);
    const [stored] = await paymentsOf(as.userId);
    expect(stored).toMatchObject({ is_done: true, description: null, meta: { card_number: null } });
    expect(await world.balanceOf(as.userId)).toBe(5_000);
  });

  test('a deposit or withdrawal of the person that was under way is refused, and writes nothing down', async () => {
    const as = world.person();
    await world.give(as.userId, 500);
    await handled(
      await world.publish(accountDeleted, { user_id: as.userId, deleted_at: '2026-01-15 10:00:00' }),
    );
    const before = await paymentsOf(as.userId);
    const body = { amount: 5_000, description: 'For Sara' };
    const headers = { 'idempotency-key': 'too-late' };
    const deposit = await world.send('POST', '/payments/deposit', { as, body, headers });
    const withdrawal = await world.send('POST', '/payments/withdrawals', {
      as,
      body: { ...body, amount: 100 },
    });
    expect([deposit.status, withdrawal.status]).toEqual([403, 403]);
    expect(await paymentsOf(as.userId)).toEqual(before);
    expect(await world.balanceOf(as.userId)).toBe(500);
    const keys = world.connection.collection('idempotency_keys');
    expect(await keys.countDocuments({ user_id: as.userId })).toBe(0);
  });

  test('what others book for the person afterwards moves money and says nothing personal', async () => {
    const [seller, buyer] = [world.person(), world.person()];
    await world.give(buyer.userId, 500);
    await handled(
      await world.publish(accountDeleted, { user_id: seller.userId, deleted_at: '2026-01-15 10:00:00' }),
    );
    const sale = {
      idempotency_key: 'sale of the erased',
      bookings: [
        { user_id: buyer.userId, type: 'purchase', amount: 500, description: 'Plan by Sara' },
        { user_id: seller.userId, type: 'income', amount: 500, description: 'Plan by Sara' },
        { user_id: seller.userId, type: 'commission', amount: 50, description: 'Plan by Sara' },
      ],
    };
    const booked = await world.grpc.call('Book', sale);
    expect(await world.grpc.call('Book', sale)).toEqual({ ...booked, replayed: true });
    expect((await paymentsOf(seller.userId)).map(({ description }) => description)).toEqual([null, null]);
    expect((await paymentsOf(buyer.userId)).map(({ description }) => description)).toContain('Plan by Sara');
    expect(await world.balanceOf(seller.userId)).toBe(450);
    expect(await world.balanceOf(buyer.userId)).toBe(0);
  });

  test('twenty sales at the moment of the erasure: what is stored of them says nothing personal', async () => {
    const as = world.person();
    await world.give(as.userId, 1_000);
    const [, erased] = await Promise.all([
      together(20, (index) =>
        world.grpc.call('Book', {
          idempotency_key: `late sale ${index}`,
          bookings: [{ user_id: as.userId, type: 'purchase', amount: 1, description: 'For Sara' }],
        }),
      ),
      world.publish(accountDeleted, { user_id: as.userId, deleted_at: '2026-01-15 10:00:00' }),
    ]);
    await handled(erased);
    expect(await world.balanceOf(as.userId)).toBe(980);
    const described = (await paymentsOf(as.userId)).filter(({ description }) => description !== null);
    expect(described).toEqual([]);
  });

  test('twenty deposits at the moment of the erasure: what is stored of them says nothing personal', async () => {
    const as = world.person();
    const body = { amount: 5_000, description: 'For Sara' };
    const [deposits, erased] = await Promise.all([
      together(20, () => world.send('POST', '/payments/deposit', { as, body })),
      world.publish(accountDeleted, { user_id: as.userId, deleted_at: '2026-01-15 10:00:00' }),
    ]);
    await handled(erased);
    expect([201, 403]).toEqual(expect.arrayContaining(deposits.map(({ status }) => status)));
    const stored = await paymentsOf(as.userId);
    expect(stored).toHaveLength(deposits.filter(({ status }) => status === 201).length);
    expect(stored.filter(({ description }) => description !== null)).toEqual([]);
  });
});

test('after all of this the audit finds nothing', async () => {
  expect((await world.audit()).difference).toBeUndefined();
});
