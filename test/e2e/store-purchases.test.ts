/** App-store purchases through the gateway: the response, the payment history and the resources. */
import { randomUUID } from 'node:crypto';
import { type Schemas, unwrap } from '@fitness/client';
import type { Answer } from '@fitness/shared/testing/harness.ts';
import { beforeAll, describe, expect, test } from '@jest/globals';
import {
  type Account,
  api,
  balanceOf,
  clientOf,
  deposit,
  eventually,
  expectStatus,
  register,
  sandbox,
  stack,
  untilCodesAreSent,
} from './support.ts';

const PATH = '/payments/store-purchases';
const PRICES = { premium_plus: 1_999_000, boost_basic: 99_000, boost_pro: 190_000 } as const;
type Sku = keyof typeof PRICES;

let owner: Account;
let gymId: number;
let serviceId: number;
beforeAll(async () => {
  owner = await register();
  const gym = { name: 'Iron House', address: 'Here', location_lat: 35.7, location_lng: 51.4 };
  const client = clientOf(owner.token);
  gymId = (await unwrap(client.POST('/api/v1/gyms', { body: gym }))).gym.id;
  const plan = { title: 'Strength', description: 'Plan', price: 1_000, duration_days: 30 };
  serviceId = (await unwrap(client.POST('/api/v1/training-services', { body: plan }))).data.id;
});

const bought = async (sku: Sku): Promise<string> => {
  const token = `e2e-${randomUUID()}`;
  await sandbox('PUT', `/store/purchases/${token}`, { product_id: sku, state: 'purchased' });
  return token;
};
const redeem = (
  as: Pick<Account, 'token'>,
  sku: string,
  token: string,
  target: object = {},
): Promise<Answer> => {
  const body = { channel: 'cafebazaar', product_id: sku, purchase_token: token, ...target };
  return api('POST', PATH, { token: as.token, body });
};
const storeCalls = async (token: string): Promise<number> =>
  (await sandbox('GET', `/store/calls?token=${token}`)).body.count;

const storePayments = async ({ token }: Account): Promise<Schemas['Payment'][]> => {
  const payments = [];
  for await (const payment of clientOf(token).list('/api/v1/payments', { type: 'store_purchase' }))
    payments.push(payment);
  return payments;
};

/** Waits long enough for repeated events to arrive. */
const laterOnesArrive = async (): Promise<void> => {
  const later = await register();
  expectStatus(await redeem(later, 'premium_plus', await bought('premium_plus')), 201);
  await eventually(async () => (await storePayments(later)).length > 0);
};

describe('redemptions', () => {
  test.each<[Sku, () => object, () => string | undefined]>([
    ['premium_plus', () => ({}), () => undefined],
    ['boost_basic', () => ({ boostable_type: 'gym', boostable_id: gymId }), () => `/gyms/${gymId}`],
    [
      'boost_pro',
      () => ({ boostable_type: 'training_service', boostable_id: serviceId }),
      () => `/training-services/${serviceId}`,
    ],
  ])(
    'a redemption of %s returns 201, then 200 with the same body, and is shown on its target',
    async (sku, target, shownAt) => {
      const token = await bought(sku);
      const granted = await redeem(owner, sku, token, target());
      expect(granted.status).toBe(201);
      const calls = await storeCalls(token);
      const replay = await redeem(owner, sku, token, target());
      expect([replay.status, replay.text]).toEqual([200, granted.text]);
      expect(await storeCalls(token)).toBe(calls);
      const path = shownAt();
      const { body } = await api('GET', path ?? '/auth/me', { token: owner.token });
      const shown = path === undefined ? body.user.current_subscription : (body.gym ?? body.data).boost;
      expect(shown).toEqual(granted.body.data);
    },
  );

  test("another user's purchase token gets the same bytes as an unknown product", async () => {
    const [first, second] = [await register(), await register()];
    const token = await bought('premium_plus');
    expect((await redeem(first, 'premium_plus', token)).status).toBe(201);
    const others = await redeem(second, 'premium_plus', token);
    const unknown = await redeem(second, 'premium_yearly', await bought('premium_plus'));
    expect([others.status, unknown.status]).toEqual([404, 404]);
    expect(others.text).toBe(unknown.text);
    expect(unknown.body).toEqual({ error: expect.any(String), code: 'store_purchase.not_found' });
  });

  test('a redemption without any purchase permission is rejected with 403 before the body is read', async () => {
    const account = await register();
    const body = { name: 'reader', permissions: ['payments.view_own'] };
    const made = expectStatus(await api('POST', '/auth/tokens', { token: account.token, body }), 201).body;
    const malformed = { token: made.token, body: '{"channel": ' };
    expect((await api('POST', PATH, malformed)).status).toBe(403);
    expect((await api('POST', PATH, { ...malformed, token: account.token })).status).toBe(400);
    expect((await api('POST', PATH, { body: '{"channel": ' })).status).toBe(401);
  });

  test("a user's eleventh redemption within a minute is rejected with 429, across all tokens", async () => {
    const account = await register();
    const body = { name: 'second' };
    const second = expectStatus(await api('POST', '/auth/tokens', { token: account.token, body }), 201).body;
    for (let turn = 0; turn < 10; turn += 1)
      expect((await redeem(turn % 2 === 0 ? account : second, 'unknown', randomUUID())).status).toBe(404);
    const refused = await redeem(second, 'premium_plus', await bought('premium_plus'));
    expect(refused.status).toBe(429);
    expect(refused.headers.get('retry-after')).toMatch(/^\d+$/);
  });
});

describe('payments of redemptions', () => {
  test('the payment is in the history within a second after the 201, and never in the balance', async () => {
    const waits: number[] = [];
    for (let turn = 0; turn < 5; turn += 1) {
      const account = await register();
      const token = await bought('premium_plus');
      const granted = expectStatus(await redeem(account, 'premium_plus', token), 201);
      const answeredAt = performance.now();
      const [payment] = await eventually(async () => {
        const payments = await storePayments(account);
        return payments.length > 0 && payments;
      });
      waits.push(performance.now() - answeredAt);
      expect(payment).toMatchObject({
        type: 'store_purchase',
        amount: PRICES.premium_plus,
        is_done: true,
        payable_id: granted.body.data.id,
        meta: { channel: 'cafebazaar', product_id: 'premium_plus' },
      });
      expect(await balanceOf(account.token)).toBe(0);
    }
    const [, , median] = waits.sort((a, b) => a - b);
    expect(median).toBeLessThan(1_000);
  });

  test('the payment exists once if the broker was down at the 201', async () => {
    const product = stack();
    const account = await register();
    const token = await bought('premium_plus');
    await product.stop('rabbitmq');
    try {
      expect((await redeem(account, 'premium_plus', token)).status).toBe(201);
      expect((await redeem(account, 'premium_plus', token)).status).toBe(200);
      expect(await storePayments(account)).toEqual([]);
    } finally {
      await product.start('rabbitmq');
    }
    await eventually(async () => (await storePayments(account)).length > 0);
    await laterOnesArrive();
    expect(await storePayments(account)).toHaveLength(1);
    await untilCodesAreSent();
  });

  test('the payment exists once if store-billing was killed right after the 201', async () => {
    const product = stack();
    const account = await register();
    const token = await bought('premium_plus');
    expect((await redeem(account, 'premium_plus', token)).status).toBe(201);
    await product.kill('store-billing');
    await product.start('store-billing');
    await eventually(async () => (await storePayments(account)).length > 0);
    expect((await redeem(account, 'premium_plus', token)).status).toBe(200);
    await laterOnesArrive();
    expect(await storePayments(account)).toHaveLength(1);
  });
});

describe('concurrent purchases from store and wallet', () => {
  test('concurrent purchases give one subscription, and the wallet is charged for it or not at all', async () => {
    const account = await register();
    await deposit(account.token, 3 * PRICES.premium_plus);
    const tokens = await Promise.all(Array.from({ length: 5 }, () => bought('premium_plus')));
    const buy = () => api('POST', '/payments/buy-premium', { token: account.token, body: { type: 'plus' } });
    const answers = await Promise.all([
      ...tokens.map((token) => redeem(account, 'premium_plus', token)),
      ...tokens.map(() => buy()),
    ]);
    const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b);
    expect(statuses).toEqual([201, ...Array.from({ length: 9 }, () => 400)]);
    const byStore = answers.slice(0, 5).some(({ status }) => status === 201);
    const charged = byStore ? 0 : PRICES.premium_plus;
    expect(await balanceOf(account.token)).toBe(3 * PRICES.premium_plus - charged);
    const { user } = (await api('GET', '/auth/me', { token: account.token })).body;
    const granted = answers.find(({ status }) => status === 201);
    expect(user.current_subscription).toEqual(granted?.body.data);
    expect((await buy()).body.code).toBe('payments.premium_already_active');
  });
});
