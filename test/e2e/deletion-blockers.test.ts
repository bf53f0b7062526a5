/** The five blockers of specification 4.1 rule 5, each created by its owner's routes. */
import { unwrap } from '@fitness/client';
import { describe, expect, test } from '@jest/globals';
import { type Account, arm, clientOf, deposit, operatorToken, PASSWORD, register, smsOf } from './support.ts';

const createGym = async (owner: Account, name = 'Iron House') => {
  const body = { name, address: 'Valiasr Street', location_lat: 35.7, location_lng: 51.4 };
  return (await unwrap(clientOf(owner.token).POST('/api/v1/gyms', { body }))).gym;
};

const setBankAccount = (account: Account) => {
  const body = { bank_account_number: 'IR820540102680020817909002', current_password: PASSWORD };
  return unwrap(clientOf(account.token).PUT('/api/v1/auth/me', { body }));
};

const withdraw = async (account: Account, amount: number) =>
  (await unwrap(clientOf(account.token).POST('/api/v1/payments/withdrawals', { body: { amount } }))).payment;

const createService = async (seller: Account, price: number) => {
  const body = { title: 'Strength in 30 days', description: 'A plan', price, duration_days: 30 };
  return (await unwrap(clientOf(seller.token).POST('/api/v1/training-services', { body }))).data;
};

const buyService = async (buyer: Account, id: number) => {
  const params = { path: { id } };
  const client = clientOf(buyer.token);
  return (await unwrap(client.POST('/api/v1/training-services/{id}/purchase', { params }))).data;
};

const buyPremium = async (buyer: Account) =>
  (await unwrap(clientOf(buyer.token).POST('/api/v1/payments/buy-premium', { body: { type: 'plus' } }))).data;

const premiumPrice = async (): Promise<number> =>
  (await unwrap(clientOf().GET('/api/v1/payments/prices'))).data.premium.plus;

const settle = async (id: number, verb: 'pay' | 'reject') => {
  const client = clientOf(await operatorToken());
  const params = { path: { id } };
  return verb === 'pay'
    ? unwrap(client.POST('/api/v1/payments/{id}/pay', { params }))
    : unwrap(client.POST('/api/v1/payments/{id}/reject', { params, body: {} }));
};

const expectBlocked = async (account: Account, blockers: unknown[]) => {
  const answer = await arm(account);
  expect(answer.status).toBe(409);
  expect(answer.body).toEqual({ error: expect.any(String), code: 'account_deletion_blocked', blockers });
  expect(await smsOf(account.phone)).toHaveLength(0);
};

const text = expect.any(String);

describe('single blockers', () => {
  test('gym_ownership counts the gyms and ends when they are deleted', async () => {
    const owner = await register();
    const [first, second] = [await createGym(owner), await createGym(owner, 'Second')];
    await expectBlocked(owner, [{ code: 'gym_ownership', message: text, count: 2 }]);
    for (const gym of [first, second]) {
      const params = { path: { id: gym.id } };
      await unwrap(clientOf(owner.token).DELETE('/api/v1/gyms/{id}', { params }));
    }
    expect((await arm(owner)).status).toBe(200);
  });

  test('unsettled_balance contains the balance', async () => {
    const saver = await register();
    await deposit(saver.token, 123_000);
    await expectBlocked(saver, [{ code: 'unsettled_balance', message: text, balance: 123_000 }]);
  });

  test('pending_withdrawal counts open withdrawals and ends when they are paid or rejected', async () => {
    const saver = await register();
    await setBankAccount(saver);
    await deposit(saver.token, 50_000);
    const paid = await withdraw(saver, 20_000);
    const rejected = await withdraw(saver, 30_000);
    await expectBlocked(saver, [{ code: 'pending_withdrawal', message: text, count: 2 }]);
    await settle(paid.id, 'pay');
    await settle(rejected.id, 'reject');
    await expectBlocked(saver, [{ code: 'unsettled_balance', message: text, balance: 30_000 }]);
  });

  test('active_premium contains its end as YYYY-MM-DD HH:MM:SS', async () => {
    const buyer = await register();
    await deposit(buyer.token, await premiumPrice());
    const bought = await buyPremium(buyer);
    await expectBlocked(buyer, [{ code: 'active_premium', message: text, expires_at: bought.expires_at }]);
    expect(bought.expires_at).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/);
  });

  test('active_trainees blocks the seller until the trainee is delivered, and never the buyer', async () => {
    const [seller, buyer] = [await register(), await register()];
    const service = await createService(seller, 40_000);
    await deposit(buyer.token, 40_000);
    const trainee = await buyService(buyer, service.id);
    const blocked = await arm(seller);
    expect(blocked.status).toBe(409);
    expect(blocked.body.blockers.map(({ code }: { code: string }) => code)).toEqual([
      'unsettled_balance',
      'active_trainees',
    ]);
    expect(blocked.body.blockers[1]).toMatchObject({ count: 1 });
    expect((await arm(buyer)).status).toBe(200);
    const params = { path: { id: trainee.id } };
    await unwrap(clientOf(seller.token).POST('/api/v1/trainees/{id}/deliver', { params }));
    const later = await arm(seller);
    expect(later.body.blockers.map(({ code }: { code: string }) => code)).toEqual(['unsettled_balance']);
  });
});

describe('five blockers at once', () => {
  test('all five blockers are in the specified order and localized, with unchanged codes', async () => {
    const everything = await register();
    const buyer = await register();
    await setBankAccount(everything);
    await createGym(everything);
    const service = await createService(everything, 1_000);
    await deposit(buyer.token, 1_000);
    await buyService(buyer, service.id);
    await deposit(everything.token, (await premiumPrice()) + 10_000);
    await buyPremium(everything);
    await withdraw(everything, 4_000);
    const english = await arm(everything);
    const persian = await arm(everything, { headers: { 'accept-language': 'fa-IR,fa;q=0.9,en;q=0.1' } });
    const codes = [
      'gym_ownership',
      'unsettled_balance',
      'pending_withdrawal',
      'active_premium',
      'active_trainees',
    ];
    for (const answer of [english, persian]) {
      expect(answer.status).toBe(409);
      expect(answer.body.code).toBe('account_deletion_blocked');
      expect(answer.body.blockers.map(({ code }: { code: string }) => code)).toEqual(codes);
    }
    expect([english.headers.get('content-language'), persian.headers.get('content-language')]).toEqual([
      'en',
      'fa',
    ]);
    for (const [index, blocker] of persian.body.blockers.entries()) {
      expect(blocker.message).not.toBe(english.body.blockers[index].message);
      expect(blocker.message).toMatch(/[\u0600-\u06ff]/);
    }
    expect(await smsOf(everything.phone)).toHaveLength(0);
  });
});
