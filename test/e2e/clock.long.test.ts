/** `PUT /_sandbox/clock` on a separate product with two replicas of each process. Waits of days end within seconds. */
import { type Answer, eventually } from '@fitness/shared/testing/harness.ts';
import { totpOf } from '@fitness/shared/testing/totp.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type OwnProduct, startOwnProduct } from './own-product.ts';
import {
  type Account,
  api,
  arm,
  commit,
  deposit,
  expectStatus,
  login,
  newestCode,
  PASSWORD,
  register,
  sandbox,
  scheduleDeletion,
  tokenOf,
  useProduct,
} from './support.ts';

/** Jobs run immediately after an advance. Events reach other services a moment later. */
const SOON = { timeoutMs: 15_000, intervalMs: 100 };

let product: OwnProduct;
let leave: (() => void) | undefined;

beforeAll(async () => {
  product = await startOwnProduct(2);
  leave = useProduct(product.stack);
}, 180_000);

afterAll(async () => {
  leave?.();
  await product?.close();
});

const advance = async (duration: string): Promise<Answer> =>
  expectStatus(await sandbox('PUT', '/clock', { advance: duration }), 200);

const post = (account: Account, path: string, body: unknown, headers = {}): Promise<Answer> =>
  api('POST', path, { token: account.token, body, headers });

test('an account is erased at the end of its grace period, and not before', async () => {
  const account = await register();
  await scheduleDeletion(account);
  await advance('13d');
  expect(expectStatus(await login(account.username), 200).body.user.deletion_scheduled_at).toEqual(
    expect.any(String),
  );
  await advance('25h');
  await eventually(async () => (await login(account.username)).status === 422, SOON);
  // The erased account's names are available again.
  expectStatus(
    await api('POST', '/auth/register', {
      body: { ...registration(account), first_name: 'Sara', last_name: 'Ahmadi', password: PASSWORD },
    }),
    201,
  );
});

const registration = ({ username, email, phone }: Account) => ({ username, email, phone });

test('every gateway rejects a token once it has expired', async () => {
  const account = await register();
  const me = (url: string) =>
    fetch(`${url}/api/v1/auth/me`, { headers: { authorization: `Bearer ${account.token}` } });
  const gateways = product.client.replicas('gateway').map(({ url }) => url);
  expect(gateways).toHaveLength(2);
  // Now each gateway has cached the token.
  for (const url of gateways) expect((await me(url)).status).toBe(200);
  await advance('31d');
  for (const url of gateways) expect((await me(url)).status).toBe(401);
});

test('a confirmation code is rejected after ten minutes', async () => {
  const account = await register();
  expectStatus(await arm(account), 200);
  const code = await newestCode(account.phone);
  await advance('11m');
  expectStatus(await commit(account, code), 422);
});

test('an authenticator app, which uses real time, still enables a second factor', async () => {
  const account = await register();
  const begun = await post(account, '/auth/second-factor', { current_password: PASSWORD });
  const { secret } = expectStatus(begun, 200).body;
  const armed = await post(account, '/auth/second-factor', { totp: totpOf(secret, new Date()) });
  expect(expectStatus(armed, 200).body.recovery_codes).toEqual(expect.any(Array));
});

describe('a limit', () => {
  test('a limit per minute ends when Retry-After has passed by the sandbox clock', async () => {
    const account = await register();
    for (let call = 1; call <= 5; call += 1) await commit(account, '000000');
    const refused = expectStatus(await commit(account, '000000'), 429);
    await advance(`${refused.headers.get('retry-after')}s`);
    expectStatus(await commit(account, '000000'), 422);
  });

  test('the sign-in limit ends after a minute of the sandbox clock', async () => {
    const account = await register();
    let status = 0;
    for (let call = 1; call <= 12 && status !== 429; call += 1)
      status = (await login(account.username, 'wrong-password-1')).status;
    expect(status).toBe(429);
    await advance('1m');
    expectStatus(await login(account.username), 200);
  });
});

test('an Idempotency-Key can be used again after a day', async () => {
  const account = await register();
  const headers = { 'idempotency-key': `key-${account.id}` };
  expectStatus(await post(account, '/payments/deposit', { amount: 10_000 }, headers), 201);
  expectStatus(await post(account, '/payments/deposit', { amount: 20_000 }, headers), 422);
  await advance('25h');
  expectStatus(await post(account, '/payments/deposit', { amount: 20_000 }, headers), 201);
});

test('a subscription ends, and its end is announced three days before', async () => {
  const account = await register();
  await deposit(account.token, 5_000_000);
  expectStatus(await post(account, '/payments/buy-premium', { type: 'plus' }), 201);
  expectStatus(await post(account, '/payments/buy-premium', { type: 'plus' }), 400);
  await advance('29d');
  const typesOf = async (): Promise<string[]> => {
    const token = await tokenOf(account.username);
    return (await api('GET', '/notifications', { token })).body.data.map(
      ({ type }: { type: string }) => type,
    );
  };
  await eventually(async () => (await typesOf()).includes('subscription_expiring'), SOON);
  await advance('4d');
  const token = await tokenOf(account.username);
  await deposit(token, 5_000_000);
  expectStatus(await api('POST', '/payments/buy-premium', { token, body: { type: 'plus' } }), 201);
});

test('a boost is active for its days and then disappears from the list', async () => {
  const account = await register();
  await deposit(account.token, 5_000_000);
  const created = await post(account, '/training-services', {
    title: 'Strength in 30 days',
    description: 'Three sessions a week.',
    price: 100_000,
    duration_days: 30,
  });
  const { id } = expectStatus(created, 201).body.data;
  const boosted = { boostable_type: 'training_service', boostable_id: id, level: 'basic' };
  expectStatus(await post(account, '/payments/boost', boosted), 201);
  const boostOf = async () => (await api('GET', `/training-services/${id}`)).body.data.boost;
  await eventually(async () => (await boostOf()) !== null, SOON);
  await advance('6d');
  expect(await boostOf()).not.toBeNull();
  await advance('25h');
  expect(await boostOf()).toBeNull();
});

test('a killed process and a killed sandbox restart with the advanced clock', async () => {
  const before = expectStatus(await sandbox('GET', '/clock'), 200).body.data;
  await product.client.kill('sandbox');
  await product.client.start('sandbox');
  expect((await sandbox('GET', '/clock')).body.data.advanced_ms).toBe(before.advanced_ms);
  await product.client.kill('identity');
  await product.client.start('identity');
  const { body } = await login((await register()).username);
  const aheadMs = new Date(`${body.expires_at.replace(' ', 'T')}Z`).getTime() - Date.now();
  const DAY_MS = 86_400_000;
  expect(Math.round((aheadMs - before.advanced_ms) / DAY_MS)).toBe(30);
});
