/** Executes the commands in docs/guides/operators/cases.md unchanged. */

import { unwrap } from '@fitness/client';
import { eventually } from '@fitness/shared/testing/harness.ts';
import { beforeAll, expect, test } from '@jest/globals';
import { runShellBlocks } from './shell-blocks.ts';
import {
  type Account,
  administratorToken,
  api,
  balanceOf,
  baseUrl,
  clientOf,
  deposit,
  expectStatus,
  PASSWORD,
  register,
  sandbox,
  stack,
} from './support.ts';

/** Creates a dispute: the bank gateway charges another amount than requested. */
const dispute = async ({ token }: Account): Promise<void> => {
  const opened = await unwrap(clientOf(token).POST('/api/v1/payments/deposit', { body: { amount: 9_000 } }));
  const trackId = new URL(opened.payment_url).pathname.split('/').at(-1);
  const paid = await sandbox('POST', `/zibal/${trackId}/pay`, { amount: 50_000 });
  await fetch(paid.headers.get('location') ?? '', { redirect: 'manual' });
};

/** Pays for a purchase while a subscription is active. */
const buyTwice = async ({ token, username }: Account): Promise<void> => {
  for (const name of [`${username}-first`, `${username}-second`]) {
    await sandbox('PUT', `/store/purchases/${name}`, { product_id: 'premium_plus', state: 'purchased' });
    const body = { channel: 'cafebazaar', product_id: 'premium_plus', purchase_token: name };
    await api('POST', '/payments/store-purchases', { token, body });
  }
};

let member: Account;
/** The output of each block. */
let printed: string[];

beforeAll(async () => {
  member = await register();
  await deposit(member.token, 60_000);
  const change = { current_password: PASSWORD, bank_account_number: 'IR062960000000100324200001' };
  expectStatus(await api('PUT', '/auth/me', { token: member.token, body: change }), 200);
  expectStatus(
    await api('POST', '/payments/withdrawals', { token: member.token, body: { amount: 60_000 } }),
    201,
  );
  await dispute(member);
  await buyTwice(member);
  const token = await administratorToken();
  // The product verifies a refused purchase again after a few seconds.
  await eventually(async () => {
    const { body } = await api('GET', '/payments/store-purchases/refund-queue', { token });
    return body.data.some(({ user_id }: { user_id: number }) => user_id === member.id);
  });
  const { MONGODB_URI, AMQP_URL } = stack().describe().servers;
  const { MONGODB_DATABASE = '', EVENTS_NAMESPACE = '' } = stack().part('wallet').environment;
  const servers = { MONGODB_URI, AMQP_URL, EVENTS_NAMESPACE, WALLET_MONGODB_DATABASE: MONGODB_DATABASE };
  const setVariables = Object.fromEntries(Object.entries(servers).filter(([, value]) => value !== ''));
  printed = await runShellBlocks('docs/guides/operators/cases.md', {
    API: `${baseUrl()}/api/v1`,
    ...setVariables,
  });
});

const block = (index: number): string => (printed[index] ?? '').trim();

test("the guide's commands list, replay and purge dead letters", () => {
  // Other tests of the same product may have left some.
  expect(block(1)).toMatch(
    /^wallet has (\d+) dead-lettered events\.\nReturned \1 dead-lettered events to wallet\.$/m,
  );
  expect(block(2)).toMatch(/^Deleted \d+ dead-lettered events of wallet\.$/);
});

test("the guide's commands show and credit a disputed deposit", () => {
  const [{ payment, reported }] = JSON.parse(block(3)).data;
  expect([payment.user_id, payment.amount, reported.charged_rial]).toEqual([member.id, 9_000, 50_000]);
  expect(JSON.parse(block(4)).payment).toMatchObject({ id: payment.id, is_done: true });
});

test("the guide's commands show and close a refund", () => {
  expect(JSON.parse(block(5)).data).toContainEqual(
    expect.objectContaining({ user_id: member.id, reason: 'already_running' }),
  );
  expect(JSON.parse(block(6)).data).toEqual(expect.objectContaining({ resolution: 'refunded' }));
});

test("the guide's commands show and reject a withdrawal, and the money returns to the balance", async () => {
  expect(block(7)).toContain('IR062960000000100324200001');
  expect(JSON.parse(block(8)).payment).toMatchObject({ user_id: member.id });
  expect(await balanceOf(member.token)).toBe(69_000);
  expect(printed).toHaveLength(9);
});
