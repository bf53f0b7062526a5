/** In-app notifications: one for each event, readable only by its user, in the language of the request. */
import { randomUUID } from 'node:crypto';
import { MODEL } from '@fitness/contracts/model-names.ts';
import {
  traineeDelivered,
  traineePurchased,
  trainingServiceBoostEnded,
} from '@fitness/proto/events/content.ts';
import { gymBoostEnded, gymLicenseReviewed } from '@fitness/proto/events/gyms.ts';
import { refundResolved, subscriptionExpiring } from '@fitness/proto/events/store-billing.ts';
import { depositReturned, paymentBooked, withdrawalSettled } from '@fitness/proto/events/wallet.ts';
import { eventually } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openPublisher, type Publisher } from './events.ts';
import { type Harness, join, joinAs, type Person, startHarness } from './support.ts';

let harness: Harness;
let publisher: Publisher;
let operator: Person;
beforeAll(async () => {
  harness = await startHarness();
  operator = await joinAs(harness, 'operator');
  publisher = await openPublisher(harness);
});
afterAll(async () => {
  await publisher.close();
  await harness.close();
});

const list = (person: Person, query = '', language = 'en') =>
  harness.send('GET', `/notifications${query}`, {
    as: person.caller,
    headers: { 'accept-language': language },
  });

const review = (
  owner: Person,
  verdict: { approved: boolean | null; rejection_reason?: string | null },
  id = randomUUID(),
): Promise<void> =>
  publisher.publish(
    gymLicenseReviewed,
    {
      gym_id: 7,
      gym_name: 'Alborz {reason} $t(x)',
      owner_user_id: owner.id,
      rejection_reason: null,
      ...verdict,
    },
    { id },
  );

const textsOf = async (person: Person, language: string) =>
  (await list(person, '', language)).body.data.map(({ type, title, body }: Record<string, string>) => [
    type,
    title,
    body,
  ]);

/**
 * Delivers each event five times, and then another one with its subject. Events with the same subject are handled in order, so
 * the other one shows that all are handled.
 */
const expectOnce = async (
  person: Person,
  deliveries: readonly ((id?: ReturnType<typeof randomUUID>) => Promise<void>)[],
): Promise<void> => {
  for (const deliver of deliveries) {
    const id = randomUUID();
    await Promise.all(Array.from({ length: 5 }, () => deliver(id)));
    await deliver();
  }
  await until(person, 2 * deliveries.length);
  expect((await list(person)).body.meta.total).toBe(2 * deliveries.length);
};

const until = (person: Person, count: number) =>
  eventually(async () => {
    const answer = await list(person);
    // The page and its total are separate queries.
    const { data, meta } = answer.body;
    return data.length >= count && meta.total >= count && answer;
  });

describe('a gym license review', () => {
  test('a gym review notifies the owner with the time of the event, in the request’s language', async () => {
    const owner = await join(harness);
    await review(owner, { approved: false, rejection_reason: 'The stamp is missing.' });
    await until(owner, 1);
    const english = await list(owner, '', 'en');
    expect(english.body.data).toEqual([
      {
        id: expect.any(Number),
        type: 'gym_license_reviewed',
        title: 'Gym license rejected',
        body: 'The license of Alborz {reason} $t(x) has been rejected. The stamp is missing.',
        data: {
          gym_id: 7,
          gym_name: 'Alborz {reason} $t(x)',
          approved: false,
          reason: 'The stamp is missing.',
        },
        read_at: null,
        created_at: '2026-01-15 10:00:00',
      },
    ]);
    const persian = await list(owner, '', 'fa-IR,en;q=0.5');
    expect(persian.headers.get('content-language')).toBe('fa');
    expect(persian.body.data[0]).toMatchObject({
      id: english.body.data[0].id,
      title: 'مجوز باشگاه رد شد',
      body: 'مجوز «Alborz {reason} $t(x)» رد شد. The stamp is missing.',
    });
  });

  test('the owner is notified of a gym license document that an operator has deleted', async () => {
    const owner = await join(harness);
    await review(owner, { approved: null });
    const { body } = await until(owner, 1);
    expect(body.data).toMatchObject([
      {
        title: 'Gym license document removed',
        body: 'Our team has removed the license document of Alborz {reason} $t(x). You can upload another one.',
        data: { gym_id: 7, approved: null, reason: '', removed: true },
      },
    ]);
    expect((await list(owner, '', 'fa')).body.data[0].title).toBe('مدرک مجوز باشگاه حذف شد');
  });

  test('a gym review that is delivered twenty times causes one notification', async () => {
    const owner = await join(harness);
    const id = randomUUID();
    await Promise.all(Array.from({ length: 20 }, () => review(owner, { approved: true }, id)));
    await review(owner, { approved: false });
    // Events of one gym are handled in order, so the last event shows that all are handled.
    const { body } = await until(owner, 2);
    expect((await list(owner)).body.meta.total).toBe(2);
    expect(body.meta.unread_count).toBe(2);
  });
});

describe('a trainer license review', () => {
  test('a trainer review is notified with its reason before the operator gets the response', async () => {
    const trainer = await join(harness);
    await harness.identity.call('AttachLicense', { user_id: trainer.id, media_id: 5, filename: 'a.pdf' });
    await harness.send('PUT', `/users/${trainer.id}`, {
      as: operator.caller,
      body: { trainer_license_approved: false, trainer_license_rejection_reason: 'Unreadable.' },
    });
    const { body } = await list(trainer);
    expect(body.data).toMatchObject([
      {
        type: 'trainer_license_reviewed',
        title: 'Trainer license rejected',
        body: 'Your trainer license has been rejected. Unreadable.',
        data: { approved: false, reason: 'Unreadable.' },
      },
    ]);
  });
});

test('a reset and a cleared trainer license have their own texts in both languages', async () => {
  const trainer = await join(harness);
  await harness.identity.call('AttachLicense', { user_id: trainer.id, media_id: 6, filename: 'a.pdf' });
  const { caller: as } = operator;
  for (const body of [
    { trainer_license_approved: true },
    { trainer_license_approved: null },
    { trainer_license_image: null },
  ])
    expect((await harness.send('PUT', `/users/${trainer.id}`, { as, body })).status).toBe(200);
  const titles = async (language: string) =>
    (await textsOf(trainer, language)).map(([, title]: string[]) => title);
  expect(await titles('en')).toEqual([
    'Trainer license document removed',
    'Trainer license under review again',
    'Trainer license approved',
  ]);
  expect(await titles('fa')).toEqual([
    'مدرک مجوز مربیگری حذف شد',
    'مجوز مربیگری دوباره بررسی می‌شود',
    'مجوز مربیگری تأیید شد',
  ]);
});

describe('the payments of the wallet', () => {
  const payment = (person: Person, type: 'deposit' | 'withdrawal' | 'store_purchase', id = randomUUID()) =>
    publisher.publish(
      paymentBooked,
      { payment_id: 31, user_id: person.id, type, amount: 50_000 },
      { id, subject: '31' },
    );
  const settled = (person: Person, outcome: 'paid' | 'rejected', reason: string | null, payment_id = 32) =>
    publisher.publish(
      withdrawalSettled,
      { payment_id, user_id: person.id, amount: 20_000, outcome, reason },
      { subject: String(payment_id) },
    );
  const returned = (person: Person, id: string = randomUUID()) =>
    publisher.publish(
      depositReturned,
      { payment_id: 35, user_id: person.id, amount: 30_000 },
      { id, subject: '35' },
    );
  const resolved = (person: Person, outcome: 'refunded' | 'granted', id: string = randomUUID()) =>
    publisher.publish(
      refundResolved,
      {
        refund_id: 5,
        user_id: person.id,
        channel: 'cafebazaar',
        product_id: 'premium_plus',
        outcome,
      },
      { id, subject: 'refund-5' },
    );
  test('deposits and settled withdrawals are notified in the language of the request', async () => {
    const person = await join(harness);
    await payment(person, 'deposit');
    await until(person, 1);
    await settled(person, 'paid', null);
    await until(person, 2);
    await settled(person, 'rejected', 'The account {amount} is closed.', 33);
    await until(person, 3);
    await settled(person, 'rejected', null, 34);
    const { body } = await until(person, 4);
    expect(body.data.map(({ data }: { data: unknown }) => data)).toEqual([
      { payment_id: 34, amount: 20_000, reason: '' },
      { payment_id: 33, amount: 20_000, reason: 'The account {amount} is closed.' },
      { payment_id: 32, amount: 20_000 },
      { payment_id: 31, amount: 50_000 },
    ]);
    expect(await textsOf(person, 'en')).toEqual([
      [
        'withdrawal_rejected',
        'Withdrawal rejected',
        'Your withdrawal of 20,000 Tooman was rejected, and the money is back in your balance.',
      ],
      [
        'withdrawal_rejected',
        'Withdrawal rejected',
        'Your withdrawal of 20,000 Tooman was rejected, and the money is back in your balance. The account {amount} is closed.',
      ],
      [
        'withdrawal_paid',
        'Withdrawal paid',
        'Your withdrawal of 20,000 Tooman has been transferred to your bank account.',
      ],
      [
        'deposit_credited',
        'Deposit added to your balance',
        'Your deposit of 50,000 Tooman has been added to your balance.',
      ],
    ]);
    const persian = await textsOf(person, 'fa');
    expect(persian[3]).toEqual([
      'deposit_credited',
      'موجودی کیف پول شما افزایش یافت',
      '۵۰٬۰۰۰ تومان به موجودی کیف پول شما اضافه شد.',
    ]);
    expect(persian.slice(0, 3).map(([, title]: string[]) => title)).toEqual([
      'درخواست برداشت رد شد',
      'درخواست برداشت رد شد',
      'پول برداشت به حسابتان واریز شد',
    ]);
  });

  test('returned deposits and resolved refunds are notified in the language of the request', async () => {
    const person = await join(harness);
    await returned(person);
    await until(person, 1);
    await resolved(person, 'refunded');
    await until(person, 2);
    await resolved(person, 'granted');
    const { body } = await until(person, 3);
    const refund = { refund_id: 5, channel: 'cafebazaar', product_id: 'premium_plus' };
    expect(body.data.map(({ data }: { data: unknown }) => data)).toEqual([
      { ...refund, outcome: 'granted' },
      { ...refund, outcome: 'refunded' },
      { payment_id: 35, amount: 30_000 },
    ]);
    expect(await textsOf(person, 'en')).toEqual([
      [
        'refund_resolved',
        'Purchase activated',
        'Your in-app purchase, which could not be activated before, is now active.',
      ],
      [
        'refund_resolved',
        'Purchase refunded',
        'Your in-app purchase could not be activated, and it has been refunded.',
      ],
      [
        'deposit_returned',
        'Deposit returned',
        'Your deposit of 30,000 Tooman was not added to your balance. What you paid has been returned to you.',
      ],
    ]);
    expect((await textsOf(person, 'fa')).map(([, title]: string[]) => title)).toEqual([
      'خرید فعال شد',
      'پول خرید بازگردانده شد',
      'پول واریز به شما بازگردانده شد',
    ]);
  });

  test('each event is notified once however often it is delivered, and other payments are not', async () => {
    const person = await join(harness);
    await payment(person, 'withdrawal');
    await payment(person, 'store_purchase');
    await expectOnce(person, [
      (id) => payment(person, 'deposit', id),
      (id) => returned(person, id),
      (id) => resolved(person, 'refunded', id),
    ]);
    expect((await list(person)).body.data.map(({ type }: { type: string }) => type).sort()).toEqual(
      ['deposit_credited', 'deposit_returned', 'refund_resolved'].flatMap((type) => [type, type]),
    );
  });
});

describe('sales, subscriptions and boosts', () => {
  const sale = { trainee_id: 51, training_service_id: 6, title: 'Strength {amount}' };
  const parties = (seller: Person, buyer: Person) => ({ seller_user_id: seller.id, buyer_user_id: buyer.id });
  const sold = (seller: Person, buyer: Person, id: string = randomUUID()) =>
    publisher.publish(
      traineePurchased,
      { ...sale, ...parties(seller, buyer), price: 90_000, commission: 9_000 },
      { id, subject: '51' },
    );
  const delivered = (seller: Person, buyer: Person, id: string = randomUUID()) =>
    publisher.publish(traineeDelivered, { ...sale, ...parties(seller, buyer) }, { id, subject: '51' });
  const expiring = (person: Person, id: string = randomUUID()) =>
    publisher.publish(
      subscriptionExpiring,
      {
        subscription_id: 8,
        user_id: person.id,
        type: 'plus',
        starts_at: '2025-12-18 10:00:00',
        expires_at: '2026-01-18 10:00:00',
      },
      { id, subject: 'subscription-8' },
    );
  const ended = { boost_id: 9, level: 2, ended_at: '2026-01-15 09:59:30' };
  const gymBoost = (owner: Person, id: string = randomUUID()) =>
    publisher.publish(
      gymBoostEnded,
      { ...ended, gym_id: 7, gym_name: 'Alborz', owner_user_id: owner.id },
      { id, subject: 'boost-9' },
    );
  const serviceBoost = (seller: Person, id: string = randomUUID()) =>
    publisher.publish(
      trainingServiceBoostEnded,
      { ...ended, training_service_id: 6, title: 'Strength', seller_user_id: seller.id },
      { id, subject: 'boost-9' },
    );

  test('the seller is notified of a sale and the buyer of its delivery, in the request’s language', async () => {
    const [seller, buyer] = [await join(harness), await join(harness)];
    await sold(seller, buyer);
    await delivered(seller, buyer);
    const [toSeller, toBuyer] = [await until(seller, 1), await until(buyer, 1)];
    expect(toSeller.body.data.map(({ data }: { data: unknown }) => data)).toEqual([
      { ...sale, amount: 90_000, commission: 9_000 },
    ]);
    expect(toBuyer.body.data.map(({ data }: { data: unknown }) => data)).toEqual([sale]);
    expect(await textsOf(seller, 'en')).toEqual([
      [
        'training_service_sold',
        'Training service sold',
        'You sold your training service Strength {amount} for 90,000 Tooman.',
      ],
    ]);
    expect(await textsOf(buyer, 'en')).toEqual([
      [
        'training_service_delivered',
        'Training service delivered',
        'The training service Strength {amount} has been delivered to you.',
      ],
    ]);
    expect([...(await textsOf(seller, 'fa')), ...(await textsOf(buyer, 'fa'))]).toEqual([
      [
        'training_service_sold',
        'یک خدمت مربیگری فروختید',
        'خدمت مربیگری «Strength {amount}» را به قیمت ۹۰٬۰۰۰ تومان فروختید.',
      ],
      [
        'training_service_delivered',
        'خدمت مربیگری تحویل داده شد',
        'مربی خدمت «Strength {amount}» را به شما تحویل داد.',
      ],
    ]);
  });

  test('an expiring subscription and ended boosts are notified in the language of the request', async () => {
    const person = await join(harness);
    await expiring(person);
    await until(person, 1);
    await gymBoost(person);
    await until(person, 2);
    await serviceBoost(person);
    const { body } = await until(person, 3);
    expect(body.data.map(({ data }: { data: unknown }) => data)).toEqual([
      { ...ended, boostable_type: MODEL.trainingService, boostable_id: 6, name: 'Strength' },
      { ...ended, boostable_type: MODEL.gym, boostable_id: 7, name: 'Alborz' },
      { subscription_id: 8, type: 'plus', expires_at: '2026-01-18 10:00:00' },
    ]);
    expect(await textsOf(person, 'en')).toEqual([
      ['boost_ended', 'Boost ended', 'The boost of Strength has ended.'],
      ['boost_ended', 'Boost ended', 'The boost of Alborz has ended.'],
      [
        'subscription_expiring',
        'Your subscription ends soon',
        'Your premium subscription ends on January 18, 2026 at 10:00 UTC.',
      ],
    ]);
    expect(await textsOf(person, 'fa')).toEqual([
      ['boost_ended', 'نردبان تمام شد', 'نردبان «Strength» تمام شد.'],
      ['boost_ended', 'نردبان تمام شد', 'نردبان «Alborz» تمام شد.'],
      [
        'subscription_expiring',
        'اشتراک شما رو به پایان است',
        'اشتراک ویژهٔ شما در تاریخ ۲۸ دی ۱۴۰۴ ساعت ۱۳:۳۰ به وقت تهران به پایان می‌رسد.',
      ],
    ]);
  });

  test('each event of a sale, a subscription or a boost is notified once however often it is delivered', async () => {
    const person = await join(harness);
    await expectOnce(person, [
      (id) => sold(person, operator, id),
      (id) => delivered(operator, person, id),
      (id) => expiring(person, id),
      (id) => gymBoost(person, id),
      (id) => serviceBoost(person, id),
    ]);
  });
});

describe('the list of notifications', () => {
  test('the list is newest first, by page and by cursor, and counts all unread notifications', async () => {
    const owner = await join(harness);
    for (let index = 0; index < 5; index += 1) {
      await review(owner, { approved: index % 2 === 0 });
      await until(owner, index + 1);
    }
    const whole = (await list(owner)).body;
    const ids: number[] = whole.data.map((row: { id: number }) => row.id);
    expect(ids).toEqual(ids.toSorted((a, b) => b - a));
    const second = (await list(owner, '?page=2&per_page=2')).body;
    expect(second.data.map((row: { id: number }) => row.id)).toEqual(ids.slice(2, 4));
    expect(second.meta).toMatchObject({ total: 5, last_page: 3, current_page: 2, unread_count: 5 });
    const first = (await list(owner, '?per_page=3')).body;
    const rest = (await list(owner, `?per_page=3&cursor=${first.meta.next_cursor}`)).body;
    expect(rest.data.map((row: { id: number }) => row.id)).toEqual(ids.slice(3));
    expect(rest.meta).toMatchObject({ next_cursor: null, unread_count: 5 });

    const read = () => harness.send('POST', `/notifications/${ids[1]}/read`, { as: owner.caller });
    const once = await read();
    harness.clock.advance(60_000);
    const twice = await read();
    expect([once.status, twice.body.data.read_at]).toEqual([200, once.body.data.read_at]);
    expect((await list(owner, '?per_page=1')).body.meta.unread_count).toBe(4);
  });

  test('the list has only the caller’s notifications, which nobody else can mark as read', async () => {
    const [owner, stranger] = [await join(harness), await join(harness)];
    await review(owner, { approved: true });
    const { body } = await until(owner, 1);
    const { id } = body.data[0];
    expect((await list(stranger)).body.data).toEqual([]);
    const read = (as?: Person, path = `/notifications/${id}/read`) =>
      harness.send('POST', path, as === undefined ? {} : { as: as.caller });
    expect((await read()).status).toBe(401);
    expect((await read(stranger)).status).toBe(404);
    expect((await read(operator)).status).toBe(404);
    expect((await read(owner, '/notifications/0/read')).status).toBe(404);
    expect((await harness.send('GET', '/notifications')).status).toBe(401);
    expect((await list(owner)).body.meta.unread_count).toBe(1);
  });
});
