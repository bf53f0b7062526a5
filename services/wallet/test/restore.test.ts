/** After a restore of an older backup, the journal's deposits are verified with the gateway and booked once, and payouts are listed. */
import { readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, systemClock } from '@fitness/shared/kernel/clock.ts';
import { NO_PROGRESS } from '@fitness/shared/kernel/progress.mjs';
import type { Connection } from '@fitness/shared/mongo/connect.ts';
import { createServiceRuntime } from '@fitness/shared/runtime/service-runtime.ts';
import { ManualClock } from '@fitness/shared/testing/manual-clock.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createDependencies, type Dependencies } from '../src/dependencies.ts';
import { createUseCases, type UseCases } from '../src/use-cases.ts';
import {
  atTheBank,
  eraseAccount,
  type Harness,
  OPERATOR,
  SECOND_OPERATOR,
  setZibalMode,
  startHarness,
} from './support.ts';

const clock = new ManualClock(systemClock.now());
let harness: Harness;
let dependencies: Dependencies;
let useCases: UseCases;
let close: () => Promise<void>;
beforeAll(async () => {
  harness = await startHarness({ LEDGER_SEAL_SECONDS: 3_600 }, { clock });
  const runtime = await createServiceRuntime('wallet', harness.config, { clock });
  dependencies = await createDependencies(runtime, harness.config);
  useCases = createUseCases(dependencies);
  close = () => runtime.cleanup.close();
});
afterAll(async () => {
  await close();
  await harness.close();
});

type Rows = Map<string, Record<string, unknown>[]>;

const databases = (): Connection[] => [harness.connection, harness.sealConnection];

const assertBalanced = async (): Promise<void> => {
  // A fresh instance seals, because each one remembers the last seal that it has read.
  await createUseCases(dependencies).sealLedger();
  expect(await harness.inspect()).toMatchObject({ difference: undefined, unsealed: 0 });
};

const backUp = async (): Promise<Rows[]> => {
  // Nothing must be left to publish, because the relay keeps running.
  await assertBalanced();
  return Promise.all(
    databases().map(async (database) => {
      const rows: Rows = new Map();
      for (const { name } of await database.listCollections())
        rows.set(name, (await database.collection(name).find().toArray()) as never);
      return rows;
    }),
  );
};

const restore = async (backup: readonly Rows[]): Promise<void> => {
  for (const [index, database] of databases().entries()) {
    for (const { name } of await database.listCollections()) {
      const collection = database.collection(name);
      const stored = backup[index]?.get(name) ?? [];
      const replaced = stored.map((row) => ({
        replaceOne: { filter: { _id: row._id } as never, replacement: row, upsert: true },
      }));
      await collection.deleteMany({ _id: { $nin: stored.map(({ _id }) => _id) } } as never);
      if (replaced.length > 0) await collection.bulkWrite(replaced);
    }
  }
};

const open = async (as: UserCaller, amount: number) => {
  const { body } = await harness.send('POST', '/payments/deposit', { as, body: { amount } });
  return { id: body.payment.id as number, url: body.payment_url as string };
};
const paid = async (as: UserCaller, amount: number) => {
  const { id, url } = await open(as, amount);
  return { id, callback: await atTheBank(harness, url, 'pay') };
};
const stateOf = async (id: number): Promise<unknown> =>
  (await harness.connection.collection('payments').findOne({ _id: id as never }))?.gateway.state;

/** The restored deposits of these users only, because every test leaves entries. */
const restoreDeposits = (...people: UserCaller[]) => restoreDepositsSince(undefined, ...people);
const restoreDepositsSince = async (backedUpAt: Date | undefined, ...people: UserCaller[]) => {
  const ids = new Set(people.map(({ userId }) => userId));
  const restored = await useCases.restoreDeposits(NO_PROGRESS, backedUpAt);
  return restored
    .filter(({ user_id: id }) => ids.has(id))
    .map(({ payment_id: id, state }) => ({ id, state }))
    .sort((one, other) => one.id - other.id);
};

test('deposits made after the backup are restored, even twice, and each is booked once', async () => {
  const as = harness.person();
  await harness.give(as.userId, 1_000);
  const backup = await backUp();
  const credited = await paid(as, 20_000);
  expect((await harness.send('GET', credited.callback)).status).toBe(200);
  const closedBrowser = await paid(as, 30_000);
  const unpaid = await open(as, 40_000);
  const cancelled = await open(as, 50_000);
  await atTheBank(harness, cancelled.url, 'cancel');
  for (let round = 1; round <= 2; round += 1) {
    await restore(backup);
    expect(await harness.balanceOf(as.userId)).toBe(1_000);
    expect(await restoreDeposits(as)).toEqual([
      { id: credited.id, state: 'done' },
      { id: closedBrowser.id, state: 'done' },
      { id: unpaid.id, state: 'open' },
      { id: cancelled.id, state: 'cancelled' },
    ]);
    expect(await restoreDeposits(as)).toEqual([{ id: unpaid.id, state: 'open' }]);
    clock.advance(3 * MINUTE_MS);
    await Promise.all([harness.wallet.sweepDeposits(), harness.send('GET', credited.callback)]);
    expect(await harness.balanceOf(as.userId)).toBe(51_000);
    for (const { id } of [credited, closedBrowser])
      expect(await harness.connection.collection('ledger_entries').countDocuments({ payment_ids: id })).toBe(
        1,
      );
    expect((await open(harness.person(), 10_000)).id).toBeGreaterThan(cancelled.id);
    await assertBalanced();
  }
  // The payer pays at the bank only now.
  await harness.send('GET', await atTheBank(harness, unpaid.url, 'pay'));
  expect(await harness.balanceOf(as.userId)).toBe(91_000);
});

test('nothing is stored for an account that was erased since, or whose id belongs to a later account', async () => {
  const [erased, gone, later] = [harness.person(), harness.person(), harness.person()];
  const backup = await backUp();
  const deposits = [await paid(erased, 20_000), await paid(gone, 20_000), await paid(later, 20_000)];
  for (const { callback } of deposits) await harness.send('GET', callback);
  await restore(backup);
  await eraseAccount(harness, erased.userId);
  harness.erase(gone.userId);
  harness.registerAgain(later.userId, new Date(clock.now().getTime() + MINUTE_MS));
  const restored = await restoreDeposits(erased, gone, later);
  expect(restored).toEqual(deposits.map(({ id }) => ({ id, state: 'no_account' })));
  for (const { id } of deposits) expect(await dependencies.store.payments.find(id)).toBeUndefined();
  for (const { userId } of [erased, gone, later]) expect(await harness.balanceOf(userId)).toBe(0);
});

test('a deposit whose id is taken gets another one and is booked', async () => {
  const as = harness.person();
  const backup = await backUp();
  const { id } = await paid(as, 20_000);
  await restore(backup);
  const other = harness.person();
  while ((await harness.fund(other.userId, 1)) < id);
  expect(await restoreDeposits(as)).toEqual([{ id, state: 'done' }]);
  expect((await dependencies.store.payments.find(id))?.userId).toBe(other.userId);
  expect(await harness.balanceOf(as.userId)).toBe(20_000);
  await assertBalanced();
});

test('a deposit stays open while the bank gateway does not respond, and the sweep books it', async () => {
  const as = harness.person();
  const backup = await backUp();
  const { id } = await paid(as, 20_000);
  const opened = await backUp();
  for (const state of [backup, opened]) {
    await restore(state);
    await setZibalMode(harness, 'unreachable');
    expect(await restoreDeposits(as)).toEqual([{ id, state: 'open' }]);
    await setZibalMode(harness, 'ok');
    clock.advance(3 * MINUTE_MS);
    await harness.wallet.sweepDeposits();
    expect(await harness.balanceOf(as.userId)).toBe(20_000);
  }
  // The deposit is open in this backup.
  await restore(opened);
  expect(await restoreDeposits(as)).toEqual([{ id, state: 'done' }]);
  expect(await harness.balanceOf(as.userId)).toBe(20_000);
});

test('deposits that the sweep settles before the command are listed, and those that the backup has as settled are not', async () => {
  const as = harness.person();
  const settled = await paid(as, 10_000);
  expect((await harness.send('GET', settled.callback)).status).toBe(200);
  clock.advance(MINUTE_MS);
  const opened = await paid(as, 20_000);
  const abandoned = await open(as, 30_000);
  const backup = await backUp();
  const backedUpAt = clock.now();
  const since = await paid(as, 40_000);
  await restore(backup);
  await atTheBank(harness, abandoned.url, 'cancel');
  clock.advance(3 * MINUTE_MS);
  await harness.wallet.sweepDeposits();
  expect(await harness.balanceOf(as.userId)).toBe(30_000);
  const listed = [
    { id: opened.id, state: 'done' },
    { id: abandoned.id, state: 'cancelled' },
    { id: since.id, state: 'done' },
  ];
  expect(await restoreDepositsSince(backedUpAt, as)).toEqual(listed);
  expect(await restoreDepositsSince(backedUpAt, as)).toEqual(listed);
  expect(await harness.balanceOf(as.userId)).toBe(70_000);
});

test('a restore withdraws no entry, even of a deposit whose last look is due; the sweep does so later', async () => {
  const as = harness.person();
  const backup = await backUp();
  const { id } = await open(as, 20_000);
  const entries = async (): Promise<string[]> => {
    const files = await readdir(join(harness.config.JOURNAL_DIRECTORY, 'deposits'));
    return files.filter((file) => file.startsWith(`${id}-`));
  };
  await restore(backup);
  clock.advance(5 * DAY_MS);
  expect(await restoreDeposits(as)).toEqual([{ id, state: 'expired' }]);
  expect(await entries()).toHaveLength(1);
  clock.advance(HOUR_MS);
  await harness.wallet.sweepDeposits();
  expect([await stateOf(id), await entries()]).toEqual(['expired', []]);
});

test('a deposit of the last looks that is disputed after the backup is listed', async () => {
  const as = harness.person();
  const { id } = await open(as, 20_000);
  clock.advance(2 * DAY_MS);
  const backedUpAt = clock.now();
  await harness.connection
    .collection('payments')
    .updateOne({ _id: id as never }, { $set: { 'gateway.state': 'mismatch', 'gateway.check_at': null } });
  expect(await restoreDepositsSince(backedUpAt, as)).toEqual([{ id, state: 'mismatch' }]);
  clock.advance(3 * DAY_MS);
  expect(await restoreDepositsSince(clock.now(), as)).toEqual([]);
});

test('a process that dies between the journal and the commit leaves an order that expires unpaid', async () => {
  const as = harness.person();
  const { store } = dependencies;
  const died = new Error('died');
  let transactions = 0;
  // The first transaction counts the order.
  const transaction: typeof store.transaction = (work) => {
    transactions += 1;
    return transactions === 1 ? store.transaction(work) : Promise.reject(died);
  };
  const dying = { ...store, transaction };
  const { requestDeposit } = createUseCases({ ...dependencies, store: dying });
  const complete = async () => undefined;
  await expect(requestDeposit({ caller: as, amount: 20_000, description: '' }, complete)).rejects.toBe(died);
  const [restored] = await restoreDeposits(as);
  expect(restored?.state).toBe('open');
  expect(await harness.balanceOf(as.userId)).toBe(0);
  clock.advance(DAY_MS + MINUTE_MS);
  await harness.wallet.sweepDeposits();
  expect(await stateOf(restored?.id ?? 0)).toBe('expired');
});

test('no deposit is opened and no withdrawal is recorded as paid without the journal', async () => {
  const as = harness.person();
  await harness.give(as.userId, 10_000);
  const { body } = await harness.send('POST', '/payments/withdrawals', { as, body: { amount: 5_000 } });
  const folder = harness.config.JOURNAL_DIRECTORY;
  await rename(folder, `${folder}.away`);
  const refused = [
    await harness.send('POST', '/payments/deposit', { as, body: { amount: 20_000 } }),
    await harness.send('POST', `/payments/${body.payment.id}/pay`, { as: OPERATOR, body: {} }),
  ];
  await rename(`${folder}.away`, folder);
  expect(refused.map(({ status }) => status)).toEqual([503, 503]);
  const payments = await dependencies.store.payments.page(
    { userId: as.userId, order: 'DESC' },
    { mode: 'page', page: 1, perPage: 10, skip: 0 },
  );
  expect(payments.rows.map(({ type, isDone }) => [type, isDone])).toEqual([
    ['withdrawal', false],
    ['income', true],
  ]);
});

test('a withdrawal paid since the backup is listed as paid, and one requested since then as lost', async () => {
  const as = harness.person();
  await harness.give(as.userId, 90_000);
  const request = async (amount: number): Promise<number> =>
    (await harness.send('POST', '/payments/withdrawals', { as, body: { amount } })).body.payment.id;
  const pay = (id: number) => harness.send('POST', `/payments/${id}/pay`, { as: OPERATOR, body: {} });
  const [waiting, paidSince] = [await request(10_000), await request(20_000)];
  const backup = await backUp();
  await pay(paidSince);
  clock.advance(MINUTE_MS);
  const requestedSince = await request(30_000);
  await pay(requestedSince);
  const at = clock.now();
  await restore(backup);
  clock.advance(MINUTE_MS);
  await restoreDeposits();
  // No new withdrawal gets the id of the lost one, under which operators see it.
  const requestedAgain = await request(30_000);
  expect(requestedAgain).toBeGreaterThan(requestedSince);
  const { openWithdrawals, lostPayouts } = await useCases.listRestoredMoney();
  const mine = openWithdrawals.filter(({ userId }) => userId === as.userId);
  expect(mine).toMatchObject([
    { id: waiting, paidAt: null },
    { id: paidSince, paidAt: expect.any(Date) },
    { id: requestedAgain, paidAt: null },
  ]);
  expect(lostPayouts).toMatchObject([
    { payment_id: requestedSince, user_id: as.userId, amount: 30_000, paid_at: at },
  ]);
  const files = await readdir(join(harness.config.JOURNAL_DIRECTORY, 'payouts'));
  expect(files).toHaveLength(2);
});

test('a payment is in the journal even if another operator releases the claim during the request', async () => {
  const as = harness.person();
  await harness.give(as.userId, 5_000);
  const { body } = await harness.send('POST', '/payments/withdrawals', { as, body: { amount: 5_000 } });
  const { id } = body.payment;
  await harness.send('POST', `/payments/${id}/claim`, { as: SECOND_OPERATOR });
  const entries = async (): Promise<string[]> => {
    const files = await readdir(join(harness.config.JOURNAL_DIRECTORY, 'payouts'));
    return files.filter((file) => file.startsWith(`${id}-`));
  };
  const pay = { outcome: 'paid', text: '1111', takeOver: false, key: undefined } as const;
  await expect(useCases.settleWithdrawal(id, pay, OPERATOR)).rejects.toMatchObject({
    code: 'payments.claimed',
  });
  expect(await entries()).toEqual([]);
  const { users } = dependencies;
  const find: typeof users.find = async (...request) => {
    const found = await users.find(...request);
    // The payment was read before, and is judged again in the transaction.
    await harness.send('DELETE', `/payments/${id}/claim`, { as: SECOND_OPERATOR });
    return found;
  };
  const { settleWithdrawal } = createUseCases({ ...dependencies, users: { ...users, find } });
  expect(await settleWithdrawal(id, pay, OPERATOR)).toMatchObject({ is_done: true });
  expect(await entries()).toHaveLength(1);
});

test('the balance of an account that is erased again is listed, and the sweep disputes none of it', async () => {
  const as = harness.person();
  const { id, callback } = await paid(as, 20_000);
  await harness.send('GET', callback);
  const backup = await backUp();
  await restore(backup);
  await eraseAccount(harness, as.userId, { isRepeated: true });
  for (const isSwept of [false, true]) {
    if (isSwept) await harness.wallet.sweepDeposits();
    const { erasedWithBalance } = await useCases.listRestoredMoney();
    const mine = erasedWithBalance.filter(({ userId }) => userId === as.userId);
    expect(mine).toEqual([{ userId: as.userId, balance: 20_000 }]);
  }
  expect(await stateOf(id)).toBe('done');
  expect((await harness.inspect()).erasedWithBalance).toContainEqual({ userId: as.userId, balance: 20_000 });
  await assertBalanced();
});
