import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '@fitness/shared/kernel/clock.ts';
import { createSequences } from '@fitness/shared/mongo/sequence.ts';
import { ManualClock } from '@fitness/shared/testing/manual-clock.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { RunningWallet } from '../src/service.ts';
import { createStore } from '../src/store/store.ts';
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

/** The entries of a deposit in the journal. */
const journalled = async (id: number): Promise<string[]> => {
  const files = await readdir(join(harness.config.JOURNAL_DIRECTORY, 'deposits'));
  return files.filter((file) => file.startsWith(`${id}-`));
};

const stateOf = async (id: number): Promise<unknown> => {
  const payment = await harness.connection.collection('payments').findOne({ _id: id as never });
  return payment?.gateway.state;
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

test('a concurrent sweep and callback credit a deposit once', async () => {
  const as = harness.person();
  const { id, url } = await deposit(as);
  const callback = await atTheBank(harness, url, 'pay');
  clock.advance(3 * MINUTE_MS);
  await Promise.all([harness.wallet.sweepDeposits(), harness.send('GET', callback), other.sweepDeposits()]);
  expect(await harness.balanceOf(as.userId)).toBe(20_000);
  expect(await harness.connection.collection('ledger_entries').countDocuments({ payment_ids: id })).toBe(1);
});

test('an unpaid deposit expires after a day, and is verified hourly for 72 hours more', async () => {
  const { id } = await deposit(harness.person());
  clock.advance(3 * MINUTE_MS);
  expect((await harness.wallet.sweepDeposits()).verified).toBe(1);
  expect(await stateOf(id)).toBe('open');
  clock.advance(DAY_MS);
  await harness.wallet.sweepDeposits();
  expect(await stateOf(id)).toBe('expired');
  for (let hour = 1; hour < 72; hour += 1) {
    clock.advance(HOUR_MS - 1);
    expect((await harness.wallet.sweepDeposits()).verified).toBe(0);
    clock.advance(1);
    expect((await harness.wallet.sweepDeposits()).verified).toBe(1);
  }
  expect(await journalled(id)).toHaveLength(1);
  clock.advance(HOUR_MS);
  expect((await harness.wallet.sweepDeposits()).verified).toBe(1);
  expect([await stateOf(id), await journalled(id)]).toEqual(['expired', []]);
  clock.advance(10 * DAY_MS);
  expect((await harness.wallet.sweepDeposits()).verified).toBe(0);
});

test('a cancelled deposit is closed, and verified hourly until the same time', async () => {
  const { id, url } = await deposit(harness.person());
  await atTheBank(harness, url, 'cancel');
  clock.advance(3 * MINUTE_MS);
  await harness.wallet.sweepDeposits();
  expect(await stateOf(id)).toBe('cancelled');
  clock.advance(HOUR_MS);
  expect((await harness.wallet.sweepDeposits()).verified).toBe(1);
  expect(await journalled(id)).toHaveLength(1);
  clock.advance(4 * DAY_MS);
  expect((await harness.wallet.sweepDeposits()).verified).toBe(1);
  expect([await stateOf(id), await journalled(id)]).toEqual(['cancelled', []]);
  clock.advance(DAY_MS);
  expect((await harness.wallet.sweepDeposits()).verified).toBe(0);
});

test('a deposit that is paid after it expired, and whose browser never returns, is credited once', async () => {
  const as = harness.person();
  const { id, url } = await deposit(as);
  clock.advance(DAY_MS);
  await harness.wallet.sweepDeposits();
  expect(await stateOf(id)).toBe('expired');
  await atTheBank(harness, url, 'pay');
  clock.advance(HOUR_MS);
  const rounds = await together(4, (index) => (index % 2 === 0 ? harness.wallet : other).sweepDeposits());
  expect(rounds.reduce((all, { credited }) => all + credited, 0)).toBe(1);
  expect([await stateOf(id), await harness.balanceOf(as.userId)]).toEqual(['done', 20_000]);
  clock.advance(10 * DAY_MS);
  expect((await harness.wallet.sweepDeposits()).verified).toBe(0);
  expect(await journalled(id)).toHaveLength(1);
});

test('the last look waits for a gateway that is unreachable, and keeps the journal until then', async () => {
  const as = harness.person();
  const { id, url } = await deposit(as);
  await atTheBank(harness, url, 'pay');
  clock.advance(5 * DAY_MS);
  await setZibalMode(harness, 'unreachable');
  expect(await harness.wallet.sweepDeposits()).toEqual({ verified: 1, credited: 0 });
  await setZibalMode(harness, 'ok');
  expect(await journalled(id)).toHaveLength(1);
  clock.advance(HOUR_MS);
  expect(await harness.wallet.sweepDeposits()).toEqual({ verified: 1, credited: 1 });
});

test('a closed deposit of an older release is verified after the upgrade, until its look ends', async () => {
  const [as, other] = [harness.person(), harness.person()];
  const [young, old] = [await deposit(as), await deposit(other)];
  const payments = harness.connection.collection('payments');
  const close = (id: number, created_at: Date) =>
    payments.updateOne(
      { _id: id as never },
      { $set: { created_at, 'gateway.state': 'expired', 'gateway.check_at': null } },
    );
  const daysAgo = (days: number) => new Date(clock.now().getTime() - days * DAY_MS);
  await close(young.id, daysAgo(3));
  await close(old.id, daysAgo(5));
  for (const { url } of [young, old]) await atTheBank(harness, url, 'pay');
  await harness.connection.collection('upgrades').deleteMany({});
  await harness.replica();
  await harness.wallet.sweepDeposits();
  expect([await stateOf(young.id), await stateOf(old.id)]).toEqual(['done', 'expired']);
  expect(await harness.balanceOf(as.userId)).toBe(20_000);
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

describe('the limit of open deposits', () => {
  const ask = (as: UserCaller) => harness.send('POST', '/payments/deposit', { as, body: { amount: 20_000 } });
  const openOf = ({ userId }: UserCaller) =>
    harness.connection.collection('payments').countDocuments({ user_id: userId, 'gateway.state': 'open' });
  const tenFor = async (as: UserCaller) => {
    const opened: { id: number; url: string }[] = [];
    for (let count = 0; count < 10; count += 1) opened.push(await deposit(as));
    return opened;
  };

  test('the eleventh open deposit of a user gets 422 under amount, and the bank gateway is not called', async () => {
    const as = harness.person();
    await tenFor(as);
    await setZibalMode(harness, 'unreachable');
    const refused = await ask(as);
    await setZibalMode(harness, 'ok');
    expect(refused.status).toBe(422);
    expect(Object.keys(refused.body.errors)).toEqual(['amount']);
    expect(await openOf(as)).toBe(10);
    expect((await ask(harness.person())).status).toBe(201);
  });

  test('a paid, a cancelled and a half-hour-old deposit each make room for another', async () => {
    const as = harness.person();
    const [first, second] = await tenFor(as);
    for (const [settled, click] of [
      [first, 'pay'],
      [second, 'cancel'],
    ] as const) {
      await harness.send('GET', await atTheBank(harness, settled?.url ?? '', click));
      expect((await ask(as)).status).toBe(201);
      expect((await ask(as)).status).toBe(422);
    }
    clock.advance(30 * MINUTE_MS - 1);
    expect((await ask(as)).status).toBe(422);
    clock.advance(1);
    expect((await ask(as)).status).toBe(201);
  });

  test('a repeated key of an open deposit returns it again even when there are ten', async () => {
    const as = harness.person();
    const headers = { 'idempotency-key': `again-${as.userId}` };
    const keyed = () => harness.send('POST', '/payments/deposit', { as, headers, body: { amount: 20_000 } });
    const first = await keyed();
    for (let count = 1; count < 10; count += 1) await deposit(as);
    const again = await keyed();
    expect([again.status, again.text]).toEqual([201, first.text]);
  });
});

test('a sweep takes users in turn, so the many deposits of one user delay no other user', async () => {
  const [many, one] = [harness.person(), harness.person()];
  const payments = harness.connection.collection('payments');
  await deposit(many);
  const template = await payments.findOne({ user_id: many.userId });
  const id = (index: number) => 1_000_000 + index;
  const copies = Array.from({ length: 60 }, (_, index) => ({
    ...template,
    _id: id(index) as never,
    gateway: { ...template?.gateway, track_id: `copy-${index}`, order_id: `${id(index)}-copy` },
  }));
  await payments.insertMany(copies as never);
  clock.advance(MINUTE_MS);
  const { id: paid, url } = await deposit(one);
  await atTheBank(harness, url, 'pay');
  clock.advance(3 * MINUTE_MS);
  await harness.wallet.sweepDeposits();
  expect(await stateOf(paid)).toBe('done');
  await payments.deleteMany({ _id: { $gte: id(0) as never } });
});

test('a round verifies everything that is due, open deposits before the closed ones of many users', async () => {
  // Earlier tests leave nothing to verify.
  clock.advance(10 * DAY_MS);
  await harness.wallet.sweepDeposits();
  const payments = harness.connection.collection('payments');
  const { id, url } = await deposit(harness.person());
  const template = await payments.findOne({ _id: id as never });
  const copies = Array.from({ length: 60 }, (_, index) => ({
    ...template,
    _id: 2_000_000 + index,
    user_id: 1 + index,
    gateway: {
      ...template?.gateway,
      track_id: `closed-${index}`,
      order_id: `closed-${index}`,
      state: 'failed',
    },
  }));
  await payments.insertMany(copies as never);
  await atTheBank(harness, url, 'pay');
  clock.advance(3 * MINUTE_MS);
  const store = createStore(harness.connection, createSequences(harness.connection), clock);
  const [first] = await store.payments.dueDeposits(clock.now(), 50);
  expect(first?.id).toBe(id);
  expect((await harness.wallet.sweepDeposits()).verified).toBe(61);
  expect((await store.payments.waiting(clock.now())).deposit.count).toBe(0);
  clock.advance(2 * HOUR_MS);
  expect((await store.payments.waiting(clock.now())).deposit.count).toBe(60);
  await payments.deleteMany({ _id: { $gte: 2_000_000 as never } });
});

test('the audit finds no difference after these tests', async () => {
  expect((await harness.audit()).difference).toBeUndefined();
});
