/** The payments by hour that the operator page shows. */
import { HOUR_MS, MINUTE_MS } from '@fitness/shared/kernel/clock.ts';
import { gatewayContext } from '@fitness/shared/testing/harness.ts';
import { ManualClock } from '@fitness/shared/testing/manual-clock.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Harness, OPERATOR, startHarness } from './support.ts';

const clock = new ManualClock('2026-01-15T10:20:00Z');
let harness: Harness;
beforeAll(async () => {
  harness = await startHarness({}, { clock });
});
afterAll(() => harness.close());

const read = async (as = OPERATOR) => {
  const headers = { 'x-caller-context': gatewayContext('wallet', as) };
  const response = await fetch(`${harness.wallet.url}/internal/payments/hours`, { headers });
  const text = await response.text();
  return { status: response.status, body: JSON.parse(text) as { data?: object[] } };
};

test('deposits and withdrawals of the last 24 hours are counted by hour, complete or not', async () => {
  const person = harness.person();
  const withdraw = async (): Promise<number> => {
    const body = { amount: 2_000 };
    const { status, body: made } = await harness.send('POST', '/payments/withdrawals', { as: person, body });
    expect(status).toBe(201);
    return made.payment.id;
  };
  await harness.give(person.userId, 50_000);
  await withdraw();
  const paid = await withdraw();
  await harness.send('POST', `/payments/${paid}/pay`, { as: OPERATOR });
  clock.advance(40 * MINUTE_MS);
  await withdraw();
  const body = { amount: 5_000 };
  expect((await harness.send('POST', '/payments/deposit', { as: person, body })).status).toBe(201);
  const row = (hour: string, type: string, is_done: boolean) => ({
    hour: `2026-01-15T${hour}:00:00.000Z`,
    type,
    is_done,
    count: 1,
  });
  const rows = [
    row('10', 'withdrawal', false),
    row('10', 'withdrawal', true),
    row('11', 'deposit', false),
    row('11', 'withdrawal', false),
  ];
  const key = (one: object): string => JSON.stringify(one);
  const shown = async () => (await read()).body.data?.map(key).sort();
  expect(await shown()).toEqual(rows.map(key).sort());
  clock.advance(22 * HOUR_MS + 59 * MINUTE_MS);
  expect(await shown()).toEqual(rows.map(key).sort());
  clock.advance(MINUTE_MS);
  expect(await shown()).toEqual(rows.slice(2).map(key).sort());
});

test('the payments by hour need payments.view_all', async () => {
  expect((await read(harness.person())).status).toBe(403);
});
