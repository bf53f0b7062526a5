/** The gateway while a service is down. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Account, api, baseUrl, eventually, register, stack } from './support.ts';

describe('while a service is down', () => {
  let account: Account;
  beforeAll(async () => {
    account = await register();
    await stack().stop('wallet');
  });
  afterAll(() => stack().start('wallet'));

  const isReady = async (): Promise<number> => (await fetch(`${baseUrl()}/health/ready`)).status;
  const expectOthersServed = async (): Promise<void> => {
    const { token } = account;
    expect((await api('GET', '/auth/me', { token })).status).toBe(200);
    expect((await api('GET', '/gyms')).status).toBe(200);
    const refused = await api('GET', '/payments', { token });
    expect([refused.status, Object.keys(refused.body)]).toEqual([503, ['message']]);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  };

  test('the gateway stays ready and serves the others', async () => {
    await expectOthersServed();
    expect(await isReady()).toBe(200);
  });

  test('a gateway that starts becomes ready and serves the others', async () => {
    await stack().restart('gateway');
    await eventually(async () => (await isReady()) === 200);
    await expectOthersServed();
  });
});
