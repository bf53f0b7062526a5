import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { DAY_MS, MINUTE_MS } from '@fitness/shared/kernel/clock.ts';
import { ManualClock } from '@fitness/shared/testing/manual-clock.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { RunningWallet } from '../src/service.ts';
import { atTheBank, type Harness, setZibalMode, startHarness, together } from './support.ts';

const clock = new ManualClock();
let harness: Harness;
let other: RunningWallet;

beforeAll(async () => {
  harness = await startHarness({}, { clock });
  other = await harness.replica();
});

afterAll(() => harness.close());

const deposit = async (as: UserCaller): Promise<{ id: number; url: string }> => {
  const { body } = await harness.send('POST', '/payments/deposit', { as, body: { amount: 20_000 } });
  return { id: body.payment.id, url: body.payment_url };
};

const stateOf = async (id: number): Promise<unknown> => {
  const found = await harness.connection.collection('payments').findOne({ _id: id as never });
  return found?.gateway.state;
};

test('a paid deposit without a callback is credited by the sweep', async () => {
  const as = harness.person();
  const { id, url } = await deposit(as);
  await atTheBank(harness, url, 'pay');
  expect(await harness.wallet.sweepDeposits()).toEqual({ verified: 0, credited: 0 });
  clock.advance(3 * MINUTE_MS);
  expect(await harness.wallet.sweepDeposits()).toEqual({ verified: 1, credited: 1 });
  expect(await harness.balanceOf(as.userId)).toBe(20_000);
  expect(await stateOf(id)).toBe('done');
});

test('two concurrent sweeps verify and credit each deposit once', async () => {
  const people = Array.from({ length: 5 }, () => harness.person());
  for (const as of people) await atTheBank(harness, (await deposit(as)).url, 'pay');
  clock.advance(3 * MINUTE_MS);
  const rounds = await together(4, (index) => (index % 2 === 0 ? harness.wallet : other).sweepDeposits());
  expect(rounds.reduce((all, { verified }) => all + verified, 0)).toBe(5);
  for (const { userId } of people) expect(await harness.balanceOf(userId)).toBe(20_000);
});

test('a concurrent sweep and callback credit once', async () => {
  const as = harness.person();
  const { id, url } = await deposit(as);
  const callback = await atTheBank(harness, url, 'pay');
  clock.advance(3 * MINUTE_MS);
  await Promise.all([harness.wallet.sweepDeposits(), harness.send('GET', callback), other.sweepDeposits()]);
  expect(await harness.balanceOf(as.userId)).toBe(20_000);
  expect(await harness.connection.collection('ledger_entries').countDocuments({ payment_ids: id })).toBe(1);
});

test('an unpaid deposit is verified repeatedly and expires after a day', async () => {
  const { id } = await deposit(harness.person());
  clock.advance(3 * MINUTE_MS);
  expect((await harness.wallet.sweepDeposits()).verified).toBe(1);
  expect(await stateOf(id)).toBe('open');
  clock.advance(DAY_MS);
  await harness.wallet.sweepDeposits();
  expect(await stateOf(id)).toBe('expired');
  clock.advance(DAY_MS);
  expect((await harness.wallet.sweepDeposits()).verified).toBe(0);
});

test('a cancelled deposit is closed and not verified again', async () => {
  const { id, url } = await deposit(harness.person());
  await atTheBank(harness, url, 'cancel');
  clock.advance(3 * MINUTE_MS);
  await harness.wallet.sweepDeposits();
  expect(await stateOf(id)).toBe('cancelled');
  clock.advance(DAY_MS);
  expect((await harness.wallet.sweepDeposits()).verified).toBe(0);
});

test('a deposit stays open while the gateway is unreachable, and is verified later', async () => {
  const as = harness.person();
  const { id, url } = await deposit(as);
  await atTheBank(harness, url, 'pay');
  clock.advance(3 * MINUTE_MS);
  await setZibalMode(harness, 'unreachable');
  expect(await harness.wallet.sweepDeposits()).toEqual({ verified: 1, credited: 0 });
  await setZibalMode(harness, 'ok');
  expect(await stateOf(id)).toBe('open');
  clock.advance(3 * MINUTE_MS);
  expect(await harness.wallet.sweepDeposits()).toEqual({ verified: 1, credited: 1 });
  expect(await harness.balanceOf(as.userId)).toBe(20_000);
});

test('the audit finds no difference after these tests', async () => {
  expect((await harness.audit()).difference).toBeUndefined();
});
