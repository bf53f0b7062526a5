/** The main paths through the whole product, in the arrangement of `npm start`. */
import { expect, test } from '@jest/globals';
import { runEachJourney } from './journeys.ts';
import {
  administratorToken,
  api,
  arm,
  baseUrl,
  expectStatus,
  login,
  PASSWORD,
  register,
  sandboxUrl,
  scheduleDeletion,
  stack,
  tokenOf,
} from './support.ts';

test('every service is up', async () => {
  const { operationsUrl } = stack().part('gateway');
  const answer = await fetch(`${operationsUrl}/health/services`);
  const services = (await answer.json()) as Record<string, { state: string }>;
  expect(Object.values(services).map(({ state }) => state)).toEqual(Array(6).fill('up'));
});

test('a member pays, posts, trains, subscribes, boosts and is erased, and each event has its effect once', async () => {
  const result = await runEachJourney({
    baseUrl: baseUrl(),
    sandboxUrl: sandboxUrl(),
    administrator: await administratorToken(),
  });
  expect(result).toMatchObject({ journeys: 6, failures: [], interrupted: [], effects: 6, wrongEffects: [] });
});

test('a deletion ends every credential at once, and can be cancelled after a new sign-in', async () => {
  const account = await register();
  const other = await tokenOf(account.username, PASSWORD);
  await scheduleDeletion(account);
  for (const token of [account.token, other]) expectStatus(await api('GET', '/auth/me', { token }), 401);
  const { token, user } = expectStatus(await login(account.username), 200).body;
  expect(user.deletion_scheduled_at).toEqual(expect.any(String));
  const cancelled = expectStatus(await api('DELETE', '/auth/delete-account', { token }), 200);
  expect(cancelled.body.user.deletion_scheduled_at).toBeNull();
});

test('a deletion is refused with every blocker of the account', async () => {
  const codes = async (username: string): Promise<string[]> => {
    const token = await tokenOf(username, 'demo-password-1');
    const { body } = expectStatus(
      await api('POST', '/auth/delete-account', { token, body: { current_password: 'demo-password-1' } }),
      409,
    );
    return body.blockers.map(({ code }: { code: string }) => code);
  };
  const all = await Promise.all(['owner', 'trainer', 'premium', 'saver'].map(codes));
  expect(all.flat().sort()).toEqual([
    'active_premium',
    'active_trainees',
    'gym_ownership',
    'pending_withdrawal',
    'unsettled_balance',
  ]);
  expectStatus(await arm(await register()), 200);
});
