import { wholeUser } from '@fitness/contracts/testing/users.ts';
import { accountDeleted } from '@fitness/proto/events/identity.ts';
import { grpcDefinitions } from '@fitness/shared/grpc/load.ts';
import { DAY_MS, formatTimestamp, MINUTE_MS, SECOND_MS } from '@fitness/shared/kernel/clock.ts';
import { unavailable } from '@fitness/shared/kernel/error.ts';
import {
  type Answer,
  appCaller,
  caller,
  eventually,
  restrictedCaller,
} from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { client, type Harness, openHarness, together } from './support.ts';

const PRICE = 99_999;

let harness: Harness;
let nextUser = 1;

beforeAll(async () => {
  harness = await openHarness();
});
afterAll(() => harness.close());
beforeEach(() => {
  Object.assign(harness.standIns, { down: [], balance: 1_000_000_000, commissionPercent: 10 });
  harness.standIns.beforeBookAnswer = async () => undefined;
  harness.standIns.booked.clear();
  harness.standIns.pending.clear();
  harness.standIns.gone.clear();
  harness.standIns.before.clear();
});

const someone = (): number => {
  nextUser += 1;
  return nextUser;
};

const offer = async (seller: number, fields: Record<string, unknown> = {}): Promise<number> => {
  const answer = await harness.send('POST', '/training-services', {
    as: caller(seller),
    body: { title: 'Coaching', description: '', price: PRICE, duration_days: 30, ...fields },
  });
  expect(answer.status).toBe(201);
  return answer.body.data.id;
};

const buy = (buyer: number, id: number, key?: string, body?: { price?: unknown }): Promise<Answer> =>
  harness.send('POST', `/training-services/${id}/purchase`, {
    as: caller(buyer),
    body,
    ...(key === undefined ? {} : { headers: { 'idempotency-key': key } }),
  });

const untilPurchasePublished = ({ body }: Answer): Promise<unknown> =>
  harness.tap.waitFor('content.trainee.purchased', {
    matches: ({ subject }) => subject === String(body.data.id),
  });

const deliver = (userId: number, id: number): Promise<Answer> =>
  harness.send('POST', `/trainees/${id}/deliver`, { as: caller(userId) });

const trainees = async (userId: number, query = ''): Promise<{ id: number; status: string }[]> => {
  const answer = await harness.send('GET', `/trainees${query}`, { as: caller(userId) });
  expect(answer.status).toBe(200);
  return answer.body.data;
};

const evaluate = async (userId: number, code = 'active_trainees') => {
  const blockers = client(grpcDefinitions.blockers(), harness.content.grpcAddress);
  try {
    return await blockers.call('Evaluate', { user_id: userId, code });
  } finally {
    blockers.close();
  }
};

const statuses = (answers: Answer[], status: number): number =>
  answers.filter((answer) => answer.status === status).length;

describe('201: bought', () => {
  test('a purchase returns the trainee and books purchase, income and the commission rounded down', async () => {
    const [seller, buyer] = [someone(), someone()];
    const id = await offer(seller);
    const answer = await buy(buyer, id);
    expect(answer.status).toBe(201);
    const { id: traineeId, ...rest } = answer.body.data;
    expect(rest).toEqual({
      training_service_id: id,
      title: 'Coaching',
      user_id: buyer,
      user: wholeUser(buyer),
      seller_user_id: seller,
      price: PRICE,
      status: 'active',
      delivered_at: null,
      created_at: formatTimestamp(harness.clock.now()),
    });
    const payable = {
      payable_type: 'App\\Models\\TrainingServices\\TrainingService',
      payable_id: id,
      description: 'Coaching',
    };
    expect(Object.fromEntries(harness.standIns.booked)).toEqual({
      [`training-sale:${traineeId}`]: [
        { user_id: buyer, type: 'purchase', amount: PRICE, ...payable },
        { user_id: seller, type: 'income', amount: PRICE, ...payable },
        { user_id: seller, type: 'commission', amount: 9_999, ...payable },
      ],
    });
    const event = await harness.tap.waitFor('content.trainee.purchased', {
      matches: ({ subject }) => subject === String(traineeId),
    });
    expect(event.data).toEqual({
      trainee_id: traineeId,
      training_service_id: id,
      title: 'Coaching',
      seller_user_id: seller,
      buyer_user_id: buyer,
      price: PRICE,
      commission: 9_999,
    });
  });

  test('each of twenty purchases during price changes pays the price of its trainee', async () => {
    const [seller, id] = [someone(), await offer(someone())];
    const owner = (await harness.send('GET', `/training-services/${id}`)).body.data.user_id;
    const change = (price: number) =>
      harness.send('PUT', `/training-services/${id}`, { as: caller(owner), body: { price } });
    const [answers] = await Promise.all([
      together(() => buy(seller, id)),
      together((index) => change(1_000 + index), 5),
    ]);
    expect(statuses(answers, 201)).toBe(20);
    for (const { body } of answers) {
      const [purchase, income] = harness.standIns.booked.get(`training-sale:${body.data.id}`) ?? [];
      expect([purchase?.amount, income?.amount]).toEqual([body.data.price, body.data.price]);
    }
  });

  test('a purchase with a price pays that price or is refused', async () => {
    const [seller, buyer] = [someone(), someone()];
    const id = await offer(seller);
    await harness.send('PUT', `/training-services/${id}`, { as: caller(seller), body: { price: PRICE + 1 } });
    for (const price of [PRICE, PRICE + 2]) {
      const refused = await buy(buyer, id, 'read', { price });
      expect(refused.status).toBe(400);
      expect(refused.body).toEqual({ error: expect.any(String), code: 'payments.price_changed' });
    }
    expect(harness.standIns.booked.size).toBe(0);
    expect((await buy(buyer, id, 'read', { price: PRICE + 1 })).status).toBe(201);
    const other = await buy(buyer, id, 'read', { price: PRICE });
    expect(Object.keys(other.body.errors)).toEqual(['idempotency_key']);
    expect(Object.keys((await buy(buyer, id, 'wrong', { price: '1' })).body.errors)).toEqual(['price']);
    expect(harness.standIns.booked.size).toBe(1);
  });

  test('no commission is booked at 0 percent', async () => {
    harness.standIns.commissionPercent = 0;
    await buy(someone(), await offer(someone()));
    expect(harness.standIns.payments('commission')).toEqual([]);
    expect(harness.standIns.payments('income')).toHaveLength(1);
  });

  test('two purchases without a key are booked twice', async () => {
    const [buyer, id] = [someone(), await offer(someone())];
    const answers = [await buy(buyer, id), await buy(buyer, id)];
    expect(statuses(answers, 201)).toBe(2);
    expect(harness.standIns.booked.size).toBe(2);
  });
});

describe('Idempotency-Key', () => {
  test('twenty concurrent purchases with one key have one booking, one trainee and one response', async () => {
    const [seller, buyer] = [someone(), someone()];
    const id = await offer(seller);
    const answers = await together(() => buy(buyer, id, 'twenty'));
    expect(statuses(answers, 201) + statuses(answers, 409)).toBe(20);
    expect(statuses(answers, 201)).toBeGreaterThan(0);
    expect(harness.standIns.booked.size).toBe(1);
    expect(await trainees(buyer)).toHaveLength(1);
    const again = await buy(buyer, id, 'twenty');
    expect(again.status).toBe(201);
    for (const { status, text } of answers) if (status === 201) expect(text).toBe(again.text);
    expect(again.body.data.id).toBe((await trainees(buyer))[0]?.id);
    expect(harness.standIns.booked.size).toBe(1);
    const ofBuyer = ({ data }: { data: unknown }) =>
      (data as { buyer_user_id: number }).buyer_user_id === buyer;
    const event = await harness.tap.waitFor('content.trainee.purchased', { matches: ofBuyer });
    for (let each = 0; each < 2; each += 1) await untilPurchasePublished(await buy(someone(), id));
    expect(harness.tap.events.filter((one) => one.type === event.type && ofBuyer(one))).toEqual([event]);
  });

  test('an Idempotency-Key belongs to its user and to one training service', async () => {
    const [buyer, other] = [someone(), someone()];
    const [one, two] = [await offer(someone()), await offer(someone())];
    expect((await buy(buyer, one, 'mine')).status).toBe(201);
    expect((await buy(other, one, 'mine')).status).toBe(201);
    const reused = await buy(buyer, two, 'mine');
    expect(reused.status).toBe(422);
    expect(Object.keys(reused.body.errors)).toEqual(['idempotency_key']);
    expect(harness.standIns.booked.size).toBe(2);
  });

  test('an Idempotency-Key can be reused after 24 hours, even if the sweep finished its purchase', async () => {
    const [buyer, id] = [someone(), await offer(someone())];
    harness.standIns.down = ['Book'];
    expect((await buy(buyer, id, 'daily')).status).toBe(503);
    harness.standIns.down = [];
    harness.clock.advance(MINUTE_MS);
    expect(await harness.content.finishPurchases()).toBe(1);
    harness.clock.advance(24 * 60 * MINUTE_MS);
    expect((await buy(buyer, id, 'daily')).status).toBe(201);
    expect(harness.standIns.booked.size).toBe(2);
  });
});

test('an erasure deletes the buyer’s stored responses and keeps the seller’s trainee', async () => {
  const [seller, buyer, other] = [someone(), someone(), someone()];
  const id = await offer(seller);
  for (const one of [buyer, other]) expect((await buy(one, id, 'key')).status).toBe(201);
  const keys = harness.connection.collection('idempotency_keys');
  expect(await keys.countDocuments({ user_id: buyer })).toBe(1);
  await harness.publish(accountDeleted, {
    subject: buyer,
    version: 1,
    data: { user_id: buyer, deleted_at: formatTimestamp(harness.clock.now()) },
  });
  await eventually(async () => (await keys.countDocuments({ user_id: buyer })) === 0);
  expect(await keys.countDocuments({ user_id: other })).toBe(1);
  expect(await trainees(seller, '?role=seller')).toHaveLength(2);
});

describe('400 and 404, with {error, code}, and nothing booked', () => {
  test('payments.insufficient_balance cancels the purchase, and its key can be used again', async () => {
    const [seller, buyer] = [someone(), someone()];
    const id = await offer(seller);
    harness.standIns.balance = PRICE - 1;
    const refused = await buy(buyer, id, 'poor');
    expect(refused.status).toBe(400);
    expect(refused.body).toEqual({ error: expect.any(String), code: 'payments.insufficient_balance' });
    expect(harness.standIns.booked.size).toBe(0);
    expect(await trainees(buyer)).toEqual([]);
    expect(await evaluate(seller)).toMatchObject({ applies: false });
    harness.clock.advance(MINUTE_MS);
    harness.standIns.balance = PRICE;
    expect(await harness.content.finishPurchases()).toBe(0);
    expect(harness.standIns.booked.size).toBe(0);
    expect((await buy(buyer, id, 'poor')).status).toBe(201);
    expect(harness.standIns.balance).toBe(0);
  });

  test('a purchase of the buyer’s own service is rejected with 400 payments.own_service', async () => {
    const seller = someone();
    const answer = await buy(seller, await offer(seller));
    expect(answer.status).toBe(400);
    expect(answer.body.code).toBe('payments.own_service');
  });

  test('inactive, unknown and hidden sellers’ training services get the same 404', async () => {
    const pending = someone();
    const ids = [await offer(someone(), { is_active: false }), await offer(pending), 999_999];
    harness.standIns.pending.add(pending);
    const answers = [];
    for (const id of ids) answers.push(await buy(someone(), id));
    expect(statuses(answers, 404)).toBe(3);
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(answers[0]?.body).toEqual({ error: expect.any(String), code: 'payments.target_not_found' });
    expect(harness.standIns.booked.size).toBe(0);
  });

  test('a purchase returns 401 for a guest and 403 for a token without access to payments', async () => {
    const id = await offer(someone());
    expect((await harness.send('POST', `/training-services/${id}/purchase`)).status).toBe(401);
    const as = caller(someone(), ['posts.view']);
    expect((await harness.send('POST', `/training-services/${id}/purchase`, { as })).status).toBe(403);
  });

  test('a restricted or OAuth token cannot buy, list trainees or deliver', async () => {
    const [buyer, seller] = [someone(), someone()];
    const id = await offer(seller);
    const { data: trainee } = (await buy(buyer, id)).body;
    harness.standIns.booked.clear();
    for (const token of [restrictedCaller, appCaller]) {
      const as = (userId: number) => ({ as: token(userId, ...caller(userId).permissions) });
      const answers = [
        await harness.send('POST', `/training-services/${id}/purchase`, as(buyer)),
        await harness.send('GET', '/trainees', as(seller)),
        await harness.send('POST', `/trainees/${trainee.id}/deliver`, as(seller)),
      ];
      expect(answers.map(({ status }) => status)).toEqual([403, 403, 403]);
    }
    expect(harness.standIns.booked.size).toBe(0);
    expect((await deliver(seller, trainee.id)).status).toBe(200);
  });
});

describe('503: a service does not respond', () => {
  test.each(['ShowUsers', 'GetRates', 'GetHiddenUsers'])(
    'a purchase is not claimed while %s fails',
    async (method) => {
      const [buyer, id] = [someone(), await offer(someone())];
      harness.standIns.down = [method];
      const { status, body } = await buy(buyer, id);
      expect([status, body.code]).toEqual([503, undefined]);
      harness.standIns.down = [];
      harness.clock.advance(MINUTE_MS);
      expect(await harness.content.finishPurchases()).toBe(0);
      expect(harness.standIns.booked.size).toBe(0);
    },
  );

  test('the same key resumes a purchase whose booking response was lost', async () => {
    const [buyer, id] = [someone(), await offer(someone())];
    harness.standIns.beforeBookAnswer = () => Promise.reject(new Error('lost'));
    expect((await buy(buyer, id, 'lost')).status).toBe(503);
    expect(await trainees(buyer)).toEqual([]);
    harness.standIns.beforeBookAnswer = async () => undefined;
    expect((await buy(buyer, id, 'lost')).status).toBe(201);
    expect(harness.standIns.booked.size).toBe(1);
    expect(await trainees(buyer)).toHaveLength(1);
  });

  test('a purchase without a response to its booking is not cancelled, whatever a second booking would get', async () => {
    const [buyer, id] = [someone(), await offer(someone())];
    harness.standIns.before.set('Book', async () => {
      harness.standIns.before.delete('Book');
      harness.standIns.balance = 0;
      throw unavailable('the connection was lost');
    });
    expect((await buy(buyer, id, 'no-response')).status).toBe(503);
    harness.standIns.balance = 1_000_000_000;
    expect((await buy(buyer, id, 'no-response')).status).toBe(201);
    expect(harness.standIns.booked.size).toBe(1);
  });

  test('the next purchase of a service resumes an interrupted one without a key after its lease', async () => {
    const [buyer, id] = [someone(), await offer(someone())];
    harness.standIns.beforeBookAnswer = () => Promise.reject(new Error('lost'));
    expect((await buy(buyer, id)).status).toBe(503);
    harness.standIns.beforeBookAnswer = async () => undefined;
    harness.clock.advance(MINUTE_MS);
    const answers = [await buy(buyer, id), await buy(buyer, id)];
    expect(statuses(answers, 201)).toBe(2);
    expect(harness.standIns.booked.size).toBe(2);
  });

  /** A purchase with this key whose process crashed and whose lease has expired. */
  const interrupted = async (key: string): Promise<{ buyer: number; id: number }> => {
    const [buyer, id] = [someone(), await offer(someone())];
    harness.standIns.down = ['Book'];
    expect((await buy(buyer, id, key)).status).toBe(503);
    harness.standIns.down = [];
    harness.clock.advance(MINUTE_MS);
    return { buyer, id };
  };

  /** Holds the next booking at the wallet until `release` is called. */
  const holdNextBooking = () => {
    let release = (): void => undefined;
    let arrived = false;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    harness.standIns.before.set('Book', async () => {
      harness.standIns.before.delete('Book');
      arrived = true;
      await released;
    });
    return { release, untilArrived: () => eventually(() => arrived) };
  };

  test('a repeat returns 503 if the wallet refuses it while the sweep may still pay', async () => {
    const { buyer, id } = await interrupted('beside-the-sweep');
    const booking = holdNextBooking();
    const sweeping = harness.content.finishPurchases();
    await booking.untilArrived();
    harness.standIns.balance = 0;
    expect((await buy(buyer, id, 'beside-the-sweep')).status).toBe(503);
    harness.standIns.balance = 1_000_000_000;
    booking.release();
    expect(await sweeping).toBe(1);
    expect((await buy(buyer, id, 'beside-the-sweep')).status).toBe(201);
    expect(harness.standIns.booked.size).toBe(1);
    expect(await trainees(buyer)).toHaveLength(1);
  });

  test('the sweep does not cancel a purchase that a later repeat may still pay', async () => {
    const { buyer, id } = await interrupted('after-the-sweep');
    harness.standIns.balance = 0;
    const refused = holdNextBooking();
    const sweeping = harness.content.finishPurchases();
    await refused.untilArrived();
    const booking = holdNextBooking();
    const repeat = buy(buyer, id, 'after-the-sweep');
    await booking.untilArrived();
    refused.release();
    expect(await sweeping).toBe(0);
    harness.standIns.balance = 1_000_000_000;
    booking.release();
    expect((await repeat).status).toBe(201);
    expect(await trainees(buyer)).toHaveLength(1);
  });

  let advanced: ReturnType<Harness['replica']> | undefined;
  /** Another process, whose clock the sandbox has advanced. */
  const advancedReplica = () => {
    advanced ??= harness.replica({
      clock: { now: () => new Date(harness.clock.now().getTime() + 30 * DAY_MS) },
      realTime: harness.clock,
    });
    return advanced;
  };

  test('a process with an advanced clock does not take over a purchase in progress', async () => {
    const [buyer, id] = [someone(), await offer(someone())];
    const replica = await advancedReplica();
    const booking = holdNextBooking();
    const buying = buy(buyer, id);
    await booking.untilArrived();
    const { calls } = harness.standIns;
    const before = calls.length;
    expect(await replica.finishPurchases()).toBe(0);
    expect(calls.slice(before)).toEqual([]);
    booking.release();
    expect((await buying).status).toBe(201);
    expect(harness.standIns.booked.size).toBe(1);
  });

  test('a purchase of a process with an advanced clock is finished once its lease ends in real time', async () => {
    const [buyer, id] = [someone(), await offer(someone())];
    const { send } = await advancedReplica();
    harness.standIns.down = ['Book'];
    const path = `/training-services/${id}/purchase`;
    expect((await send('POST', path, { as: caller(buyer) })).status).toBe(503);
    harness.standIns.down = [];
    expect(await harness.content.finishPurchases()).toBe(0);
    harness.clock.advance(MINUTE_MS);
    expect(await harness.content.finishPurchases()).toBe(1);
    expect(await trainees(buyer)).toHaveLength(1);
  });

  test('an Idempotency-Key can be reused once the clock was advanced by more than 24 hours', async () => {
    const [buyer, id] = [someone(), await offer(someone())];
    expect((await buy(buyer, id, 'advanced')).status).toBe(201);
    const { send } = await advancedReplica();
    const options = { as: caller(buyer), headers: { 'idempotency-key': 'advanced' } };
    expect((await send('POST', `/training-services/${id}/purchase`, options)).status).toBe(201);
    expect(harness.standIns.booked.size).toBe(2);
  });

  test('repeats of a refused purchase do not extend its lease, after which they get 400', async () => {
    const [buyer, id] = [someone(), await offer(someone())];
    harness.standIns.down = ['Book'];
    expect((await buy(buyer, id, 'again-and-again')).status).toBe(503);
    Object.assign(harness.standIns, { down: [], balance: 0 });
    const answers: number[] = [];
    for (let seconds = 0; seconds < 35; seconds += 5) {
      harness.clock.advance(5 * SECOND_MS);
      answers.push((await buy(buyer, id, 'again-and-again')).status);
    }
    expect(answers).toEqual([503, 503, 503, 503, 503, 400, 400]);
    expect(await harness.content.finishPurchases()).toBe(0);
  });

  test('a key does not resume the purchase of another training service', async () => {
    const [buyer, id, other] = [someone(), await offer(someone()), await offer(someone())];
    harness.standIns.down = ['Book'];
    expect((await buy(buyer, id, 'of-another')).status).toBe(503);
    harness.standIns.down = [];
    const answer = await buy(buyer, other, 'of-another');
    expect([answer.status, Object.keys(answer.body.errors)]).toEqual([422, ['idempotency_key']]);
    expect((await buy(buyer, id, 'of-another')).body.data.training_service_id).toBe(id);
    expect(harness.standIns.booked.size).toBe(1);
  });

  test('the sweep finishes booked purchases, cancels refused ones and leaves unknown outcomes', async () => {
    const [seller, booked, refused] = [someone(), someone(), someone()];
    const id = await offer(seller);
    harness.standIns.beforeBookAnswer = () => Promise.reject(new Error('lost'));
    expect((await buy(booked, id)).status).toBe(503);
    harness.standIns.down = ['Book'];
    expect((await buy(refused, id)).status).toBe(503);
    // Purchases that may be paid block the deletion of the seller's account.
    expect(await evaluate(seller)).toEqual({ applies: true, extras_json: '{"count":2}' });
    expect(await harness.content.finishPurchases()).toBe(0);
    harness.clock.advance(MINUTE_MS);
    expect(await harness.content.finishPurchases()).toBe(0);
    Object.assign(harness.standIns, { down: [], balance: 0, beforeBookAnswer: async () => undefined });
    harness.clock.advance(MINUTE_MS);
    const rounds = await together(() => harness.content.finishPurchases());
    expect(rounds.reduce((sum, ended) => sum + ended, 0)).toBe(2);
    expect(await trainees(booked)).toHaveLength(1);
    expect(await trainees(refused)).toEqual([]);
    expect(harness.standIns.booked.size).toBe(1);
    expect(await evaluate(seller)).toEqual({ applies: true, extras_json: '{"count":1}' });
  });
});

describe('delivery', () => {
  const sold = async () => {
    const [seller, buyer] = [someone(), someone()];
    const answer = await buy(buyer, await offer(seller));
    return { seller, buyer, id: answer.body.data.id as number };
  };

  test('twenty concurrent deliveries and a later one get the same response and publish one event', async () => {
    const { seller, buyer, id } = await sold();
    const answers = await together(() => deliver(seller, id));
    expect(statuses(answers, 200)).toBe(20);
    const [first] = answers;
    expect(first?.body.data).toMatchObject({
      id,
      status: 'delivered',
      delivered_at: formatTimestamp(harness.clock.now()),
    });
    harness.clock.advance(61_000);
    for (const again of [...answers, await deliver(seller, id)]) expect(again.text).toBe(first?.text);
    const other = await sold();
    expect((await deliver(other.seller, other.id)).status).toBe(200);
    await harness.tap.waitFor('content.trainee.delivered', {
      matches: ({ subject }) => subject === String(other.id),
    });
    const mine = ({ subject }: { subject: string }) => subject === String(id);
    const event = await harness.tap.waitFor('content.trainee.delivered', { matches: mine });
    expect(event.data).toEqual({
      trainee_id: id,
      training_service_id: expect.any(Number),
      title: 'Coaching',
      seller_user_id: seller,
      buyer_user_id: buyer,
    });
    const published = harness.tap.events.filter(
      ({ type, subject }) => type === event.type && mine({ subject }),
    );
    expect(published).toHaveLength(1);
  });

  test('only the seller can deliver: the buyer gets 403, and strangers and unpaid trainees 404', async () => {
    const { buyer, id } = await sold();
    expect((await deliver(buyer, id)).status).toBe(403);
    expect((await deliver(someone(), id)).status).toBe(404);
    expect((await deliver(buyer, 999_999)).status).toBe(404);
    const seller = someone();
    harness.standIns.down = ['Book'];
    expect((await buy(someone(), await offer(seller))).status).toBe(503);
    const open = await harness.connection.collection('trainees').findOne({ seller_user_id: seller });
    expect(open).toMatchObject({ status: 'pending' });
    expect((await deliver(seller, Number(open?._id))).status).toBe(404);
  });

  test('buyers and sellers list trainees by role, service and delivery, in pages and by cursor', async () => {
    const [seller, buyer] = [someone(), someone()];
    const [one, two] = [await offer(seller), await offer(seller)];
    const ids: number[] = [];
    for (const id of [one, two, one]) ids.push((await buy(buyer, id)).body.data.id);
    const own = await offer(buyer);
    ids.push((await buy(seller, own)).body.data.id);
    await deliver(seller, ids[0] ?? 0);
    const idsOf = async (query: string) => (await trainees(buyer, query)).map(({ id }) => id);
    expect(await idsOf('')).toEqual(ids.toReversed());
    expect(await idsOf('?role=seller')).toEqual([ids[3]]);
    expect(await idsOf('?role=buyer')).toEqual([ids[2], ids[1], ids[0]]);
    expect(await idsOf(`?training_service_id=${one}`)).toEqual([ids[2], ids[0]]);
    expect(await idsOf('?is_delivered=true')).toEqual([ids[0]]);
    expect(await idsOf('?role=buyer&is_delivered=0')).toEqual([ids[2], ids[1]]);
    const first = await harness.send('GET', '/trainees?per_page=3', { as: caller(buyer) });
    expect(first.body.meta).toMatchObject({ total: 4, last_page: 2 });
    expect(await idsOf(`?per_page=3&cursor=${first.body.meta.next_cursor}`)).toEqual([ids[0]]);
    expect(await idsOf('?per_page=3&page=2')).toEqual([ids[0]]);
    expect(await idsOf('?page=334')).toEqual([]);
    expect(await trainees(someone())).toEqual([]);
  });

  test('trainees show buyers, even erased ones, as the viewer may see them, with one call a page', async () => {
    const [seller, buyer, erased] = [someone(), someone(), someone()];
    const id = await offer(seller);
    for (const userId of [buyer, buyer, erased]) await buy(userId, id);
    harness.standIns.gone.add(erased);
    harness.standIns.calls.length = 0;
    const [first, second] = (await harness.send('GET', '/trainees', { as: caller(seller) })).body.data;
    expect(harness.standIns.calls).toEqual(['ShowUsers']);
    expect(first).toMatchObject({ title: 'Coaching', user_id: erased, user: { id: erased } });
    expect(first.user.username).not.toBe(`user${erased}`);
    expect(second.user).toMatchObject({ id: buyer, username: `user${buyer}` });
    expect(second.user.email).toBeUndefined();
    const [own] = (await harness.send('GET', '/trainees', { as: caller(buyer) })).body.data;
    expect(own.user.email).toBe(wholeUser(buyer).email);
    harness.standIns.down = ['ShowUsers'];
    expect((await harness.send('GET', '/trainees', { as: caller(seller) })).status).toBe(503);
    expect((await deliver(seller, own.id)).status).toBe(503);
    expect((await buy(buyer, id)).status).toBe(503);
    expect(harness.standIns.booked.size).toBe(3);
    harness.standIns.down = [];
    expect((await deliver(seller, own.id)).status).toBe(200);
  });
});

describe('the blocker active_trainees', () => {
  test('the blocker applies before a purchase checks whether the seller is hidden', async () => {
    const [seller, buyer] = [someone(), someone()];
    const id = await offer(seller);
    let evaluated: unknown;
    harness.standIns.before.set('GetHiddenUsers', async () => {
      evaluated = await evaluate(seller);
    });
    expect((await buy(buyer, id)).status).toBe(201);
    expect(evaluated).toEqual({ applies: true, extras_json: '{"count":1}' });
  });

  test('a purchase is refused and leaves nothing if a deletion is scheduled before the blocker applies', async () => {
    const [seller, buyer] = [someone(), someone()];
    const id = await offer(seller);
    // Runs once, before any purchase is claimed.
    let scheduled: Promise<unknown> | undefined;
    harness.standIns.before.set('GetRates', async () => {
      scheduled ??= (async () => {
        expect(await evaluate(seller)).toMatchObject({ applies: false });
        harness.standIns.pending.add(seller);
      })();
      await scheduled;
    });
    const answers = await together(() => buy(buyer, id));
    expect(statuses(answers, 404)).toBe(20);
    expect(harness.standIns.booked.size).toBe(0);
    expect(await evaluate(seller)).toMatchObject({ applies: false });
    const claimed = { seller_user_id: seller, status: { $ne: 'cancelled' } };
    expect(await harness.connection.collection('trainees').countDocuments(claimed)).toBe(0);
  });

  test('the blocker counts the seller’s undelivered trainees, even those of a deleted service', async () => {
    const [seller, buyer] = [someone(), someone()];
    const id = await offer(seller);
    const first = (await buy(buyer, id)).body.data.id;
    await buy(buyer, id);
    expect(await evaluate(seller)).toEqual({ applies: true, extras_json: '{"count":2}' });
    expect(await evaluate(buyer)).toEqual({ applies: false, extras_json: '{}' });
    await deliver(seller, first);
    expect(await evaluate(seller)).toEqual({ applies: true, extras_json: '{"count":1}' });
    await harness.send('DELETE', `/training-services/${id}`, { as: caller(seller) });
    expect(await evaluate(seller)).toEqual({ applies: true, extras_json: '{"count":1}' });
  });

  test.each(['gym_ownership', '', 'constructor'])('the blocker %j is NOT_FOUND', async (code) => {
    await expect(evaluate(1, code)).rejects.toMatchObject({ kind: 'not_found' });
  });
});
