import { execFile } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { LedgerEntry } from '../src/domain/ledger.ts';
import { entryHash, headText, type Seal, sealHash } from '../src/domain/seal.ts';
import { createSeals } from '../src/store/seals.ts';
import { atTheBank, OPERATOR, startWorld, together, type World } from './support.ts';

type Row = Record<string, unknown>;

let world: World;
/** A user with an income of 10,000, an open withdrawal of 4,000 and a paid one of 10. */
let userId: number;
let incomeId: number;
let otherIncomeId: number;
let heldId: number;
let paidId: number;
/** The key of the entry of the first income, and of the other one. */
let incomeKey: string;
let otherKey: string;

const entryOf = async (paymentId: number): Promise<Row> => {
  const found = await world.connection.collection('ledger_entries').findOne({ payment_ids: paymentId });
  if (found === null) throw new Error(`payment ${paymentId} has no entry`);
  return found;
};

beforeAll(async () => {
  // Nothing is sealed but when a test says so.
  world = await startWorld({ LEDGER_SEAL_SECONDS: 3_600 });
  const as = world.person();
  userId = as.userId;
  incomeId = await world.give(userId, 10_000);
  otherIncomeId = await world.give(world.person().userId, 300);
  const ask = async (amount: number): Promise<number> =>
    (await world.send('POST', '/payments/withdrawals', { as, body: { amount } })).body.payment.id;
  heldId = await ask(4_000);
  paidId = await ask(10);
  await world.send('POST', `/payments/${paidId}/pay`, { as: OPERATOR });
  const deposit = await world.send('POST', '/payments/deposit', { as, body: { amount: 1_000 } });
  await world.send('GET', await atTheBank(world, deposit.body.payment_url, 'cancel'));
  await world.wallet.sealLedger();
  await world.give(userId, 1);
  await world.wallet.sealLedger();
  incomeKey = String((await entryOf(incomeId))._id);
  otherKey = String((await entryOf(otherIncomeId))._id);
});

afterAll(() => world.close());

/** The whole process, as an operator runs it. */
const runCli = (
  argument?: string,
  changes: Record<string, string> = {},
): Promise<{ code: number; output: string }> =>
  new Promise((resolve) => {
    const script = new URL('../src/audit-cli.ts', import.meta.url).pathname;
    const { MONGODB_URI, MONGODB_DATABASE } = world.config;
    const env = { PATH: process.env.PATH, MONGODB_URI, MONGODB_DATABASE, ...changes };
    const given = argument === undefined ? [script] : [script, argument];
    execFile(process.execPath, given, { env }, (error, stdout, stderr) =>
      resolve({ code: Number(error?.code ?? 0), output: `${stdout}${stderr}` }),
    );
  });

const databaseOf = (name: string) => (name === 'ledger_seals' ? world.sealConnection : world.connection);
const collection = (name: string) => databaseOf(name).collection(name);

/** Remembers documents, lets `change` do what it likes to them, looks, and puts them back. */
const tamper = async (
  name: string,
  ids: readonly unknown[],
  change: () => Promise<unknown>,
): Promise<string | undefined> => {
  const those = { _id: { $in: ids as never[] } };
  const originals = await collection(name).find(those).toArray();
  await change();
  try {
    return (await world.inspect()).difference;
  } finally {
    await collection(name).deleteMany(those);
    if (originals.length > 0) await collection(name).insertMany(originals);
  }
};

const update = (name: string, id: unknown, change: Row) => () =>
  collection(name).updateOne({ _id: id as never }, change);
const remove = (name: string, id: unknown) => () => collection(name).deleteOne({ _id: id as never });

/** Puts a document in the place of another, with a hash that fits its content again. */
const rewriteEntry = (key: string, change: (entry: LedgerEntry) => LedgerEntry) => async () => {
  const found = (await collection('ledger_entries').findOne({ _id: key as never })) as Row;
  const entry = change({
    key,
    kind: found.kind as LedgerEntry['kind'],
    inputHash: found.input_hash as string | null,
    rows: found.rows as LedgerEntry['rows'],
    paymentIds: found.payment_ids as number[],
  });
  await update('ledger_entries', key, {
    $set: {
      rows: entry.rows,
      payment_ids: entry.paymentIds,
      hash: entryHash(entry, found.booked_at as Date),
    },
  })();
};

/** Puts in an entry that adds up, with a hash that fits it. */
const forged = async (key: string, changes: Row = {}, paymentIds = [incomeId]): Promise<void> => {
  const entry: LedgerEntry = {
    key,
    kind: 'booking',
    inputHash: null,
    rows: [
      { account: `wallet:${userId}`, amount: 5 },
      { account: 'revenue', amount: -5 },
    ],
    paymentIds,
  };
  const bookedAt = new Date(0);
  const document = {
    _id: key,
    kind: entry.kind,
    input_hash: null,
    rows: entry.rows,
    payment_ids: entry.paymentIds,
    booked_at: bookedAt,
    hash: entryHash(entry, bookedAt),
    seal: null,
    ...changes,
  };
  await collection('ledger_entries').insertOne(document as never);
};

const seals = (): Promise<Seal[]> => createSeals(world.sealConnection).after(0, 100);

describe('what was changed by hand is found and named', () => {
  const cases: [string, string, () => readonly unknown[], () => Promise<unknown>, () => string][] = [
    // Balances
    [
      'a balance',
      'wallets',
      () => [userId],
      () => update('wallets', userId, { $inc: { balance: 1 } })(),
      () => `the balance of user ${userId} is stored as 5992, and 5991 by his payments`,
    ],
    [
      'a balance below zero',
      'wallets',
      () => [userId],
      () => update('wallets', userId, { $set: { balance: -1 } })(),
      () => `the balance of user ${userId} is stored as -1`,
    ],
    [
      'a wallet that is removed',
      'wallets',
      () => [userId],
      () => remove('wallets', userId)(),
      () => `the wallet of user ${userId} is not there`,
    ],
    // Rows
    [
      'an amount of a row',
      'ledger_entries',
      () => [incomeKey],
      () => update('ledger_entries', incomeKey, { $inc: { 'rows.0.amount': 1 } })(),
      () => `entry ${incomeKey} is not what was sealed in 1`,
    ],
    [
      'amounts that still add up, with a hash that fits them',
      'ledger_entries',
      () => [incomeKey],
      () =>
        rewriteEntry(incomeKey, (entry) => ({
          ...entry,
          rows: [
            { account: `wallet:${userId}`, amount: 10_001 },
            { account: 'revenue', amount: -10_001 },
          ],
        }))(),
      () => `entry ${incomeKey} is not what was sealed in 1`,
    ],
    [
      'a row that is moved to another account',
      'ledger_entries',
      () => [incomeKey],
      () => update('ledger_entries', incomeKey, { $set: { 'rows.1.account': 'commission' } })(),
      () => `entry ${incomeKey} is not what was sealed in 1`,
    ],
    [
      'an entry that is removed',
      'ledger_entries',
      () => [incomeKey],
      () => remove('ledger_entries', incomeKey)(),
      () => `entry ${incomeKey}, sealed in 1, is not there`,
    ],
    [
      'a hold that is removed',
      'ledger_entries',
      () => [`withdrawal:${heldId}`],
      () => remove('ledger_entries', `withdrawal:${heldId}`)(),
      () => `entry withdrawal:${heldId}, sealed in 1, is not there`,
    ],
    [
      'the rows of two entries that are exchanged',
      'ledger_entries',
      () => [incomeKey, otherKey],
      async () => {
        const [one, other] = [await entryOf(incomeId), await entryOf(otherIncomeId)];
        await update('ledger_entries', incomeKey, { $set: { rows: other.rows } })();
        await update('ledger_entries', otherKey, { $set: { rows: one.rows } })();
      },
      () => 'is not what was sealed in 1',
    ],
    [
      'an entry that loses its hash',
      'ledger_entries',
      () => [incomeKey],
      () => update('ledger_entries', incomeKey, { $unset: { hash: 1 } })(),
      () => `entry ${incomeKey} is not what was sealed in 1`,
    ],
    [
      'an entry that no longer says that it is sealed',
      'ledger_entries',
      () => [incomeKey],
      () => update('ledger_entries', incomeKey, { $set: { seal: null } })(),
      () => `entry ${incomeKey} is sealed in 1, and does not say so`,
    ],
    [
      'an entry that says it is in another seal',
      'ledger_entries',
      () => [incomeKey],
      () => update('ledger_entries', incomeKey, { $set: { seal: 2 } })(),
      () => `entry ${incomeKey} is sealed in 1, and does not say so`,
    ],
    [
      'an entry that is put in without a hash',
      'ledger_entries',
      () => ['booking:forged'],
      () => forged('booking:forged', { hash: '' }),
      () => 'entry booking:forged is not what was booked',
    ],
    [
      'an entry that is put in for a payment that is booked',
      'ledger_entries',
      () => ['booking:forged'],
      () => forged('booking:forged'),
      () => 'entry booking:forged has other rows than its payments call for',
    ],
    [
      'an entry that is put in for no payment',
      'ledger_entries',
      () => ['booking:forged'],
      () => forged('booking:forged', {}, [987_654_321]),
      () => 'entry booking:forged is for a payment that is not there',
    ],
    [
      'an entry that is put in and says it is sealed',
      'ledger_entries',
      () => ['booking:forged'],
      () => forged('booking:forged', { seal: 1 }),
      () => 'entry booking:forged says it is in seal 1, and is not',
    ],
    [
      'an entry that names a seal that is not there',
      'ledger_entries',
      () => ['booking:forged'],
      () => forged('booking:forged', { seal: 99 }),
      () => 'entry booking:forged says it is in seal 99, which is not there',
    ],
    // Payments
    [
      'an amount of a payment',
      'payments',
      () => [incomeId],
      () => update('payments', incomeId, { $inc: { amount: 1 } })(),
      () => `entry ${incomeKey} has other rows than its payments call for`,
    ],
    [
      'an amount that is no whole number',
      'payments',
      () => [incomeId],
      () => update('payments', incomeId, { $set: { amount: 0.5 } })(),
      () => `payment ${incomeId} has the amount 0.5`,
    ],
    [
      'a payment that is removed',
      'payments',
      () => [incomeId],
      () => remove('payments', incomeId)(),
      () => `entry ${incomeKey} is for a payment that is not there`,
    ],
    [
      'a payment that is put in',
      'payments',
      () => [987_654_321],
      async () => {
        const payment = await collection('payments').findOne({ _id: incomeId as never });
        await collection('payments').insertOne({ ...payment, _id: 987_654_321 as never });
      },
      () => 'payment 987654321 has no entry of kind booking',
    ],
    [
      'the users of two payments that are exchanged',
      'payments',
      () => [incomeId, otherIncomeId],
      async () => {
        const other = await collection('payments').findOne({ _id: otherIncomeId as never });
        await update('payments', incomeId, { $set: { user_id: other?.user_id } })();
        await update('payments', otherIncomeId, { $set: { user_id: userId } })();
      },
      () => 'has other rows than its payments call for',
    ],
    [
      'a withdrawal that is marked as paid',
      'payments',
      () => [heldId],
      () => update('payments', heldId, { $set: { is_done: true } })(),
      () => `payment ${heldId} has no entry of kind withdrawal_paid`,
    ],
    [
      'a withdrawal that is marked as rejected',
      'payments',
      () => [heldId],
      () => update('payments', heldId, { $set: { rejected_at: new Date(0) } })(),
      () => `payment ${heldId} has no entry of kind withdrawal_rejected`,
    ],
    [
      'a paid withdrawal that is marked as open',
      'payments',
      () => [paidId],
      () => update('payments', paidId, { $set: { is_done: false } })(),
      () => `entry withdrawal_paid:${paidId} does not belong to payment ${paidId}`,
    ],
    [
      'a paid withdrawal that is marked as rejected too',
      'payments',
      () => [paidId],
      () => update('payments', paidId, { $set: { rejected_at: new Date(0) } })(),
      () => `payment ${paidId} is both done and rejected`,
    ],
    // Seals
    [
      'a hash in a seal',
      'ledger_seals',
      () => [1],
      () => update('ledger_seals', 1, { $set: { 'leaves.0.hash': 'f'.repeat(64) } })(),
      () => 'seal 1 is not what was sealed',
    ],
    [
      'the first seal that is removed',
      'ledger_seals',
      () => [1],
      () => remove('ledger_seals', 1)(),
      () => 'seal 1 is not there',
    ],
    [
      'the newest seal that is removed',
      'ledger_seals',
      () => [2],
      () => remove('ledger_seals', 2)(),
      () => 'says it is in seal 2, which is not there',
    ],
    [
      'a seal that is made anew, with a hash that fits it',
      'ledger_seals',
      () => [1],
      async () => {
        const [first] = await seals();
        if (first === undefined) throw new Error('nothing is sealed');
        const leaves = first.leaves.slice(1);
        await update('ledger_seals', 1, { $set: { leaves, hash: sealHash({ ...first, leaves }) } })();
      },
      () => 'seal 2 does not follow the seal before it',
    ],
  ];

  test.each(cases)('%s', async (_what, name, ids, change, expected) => {
    expect(await tamper(name, ids(), change)).toContain(expected());
    expect((await world.inspect()).difference).toBeUndefined();
  });

  test('a row that is changed together with its seal and everything after it, by a head that was noted', async () => {
    const { head } = await world.inspect();
    const originals = await collection('ledger_seals').find({}).toArray();
    const difference = await tamper('ledger_entries', [otherKey], async () => {
      await rewriteEntry(otherKey, (entry) => ({ ...entry, rows: entry.rows.toReversed() }))();
      const changed = await entryOf(otherIncomeId);
      let previous: string | undefined;
      for (const seal of await seals()) {
        const leaves = seal.leaves.map((leaf) =>
          leaf.key === otherKey ? { ...leaf, hash: String(changed.hash) } : leaf,
        );
        const anew = { ...seal, leaves, previous: previous ?? seal.previous };
        previous = sealHash(anew);
        await update('ledger_seals', seal.number, {
          $set: { leaves, previous: anew.previous, hash: previous },
        })();
      }
      // The databases fit one another again: only who has noted the head knows.
      expect((await world.inspect()).difference).toBeUndefined();
      const noted = await runCli(head);
      expect(noted).toMatchObject({
        code: 1,
        output: expect.stringContaining('seal 2 is not the one that was noted'),
      });
    });
    expect(difference).toBeUndefined();
    await collection('ledger_seals').deleteMany({});
    await collection('ledger_seals').insertMany(originals);
    expect(await runCli(head)).toMatchObject({ code: 0 });
  });
});

describe('the command', () => {
  test('says so when everything adds up, with all accounts and the head of the chain, and exits 0', async () => {
    const { code, output } = await runCli();
    const [first, accounts, head] = output.split('\n');
    expect(first).toMatch(/^\d+ payments, \d+ entries, \d+ wallets, 2 seals: everything adds up$/);
    expect(accounts).toMatch(/^accounts: gateway_clearing 10, .*held_withdrawals 4000, .*wallets 6291$/);
    const [, last] = await seals();
    expect(head).toBe(`head: ${headText(last as Seal)}`);
    expect(code).toBe(0);
  });

  test('names the first difference and exits 1', async () => {
    await update('wallets', userId, { $inc: { balance: 1 } })();
    const { code, output } = await runCli();
    await update('wallets', userId, { $inc: { balance: -1 } })();
    expect(output).toContain(`the balance of user ${userId} is stored as 5992, and 5991 by his payments`);
    expect(code).toBe(1);
  });

  test('a head that was noted is looked for, and one that is none is an error of its own', async () => {
    const [first] = await seals();
    expect(await runCli(headText(first as Seal))).toMatchObject({ code: 0 });
    const other = await runCli(`1:${'0'.repeat(64)}`);
    expect(other).toMatchObject({
      code: 1,
      output: expect.stringContaining('seal 1 is not the one that was noted'),
    });
    const beyond = await runCli(`99:${'0'.repeat(64)}`);
    expect(beyond).toMatchObject({
      code: 1,
      output: expect.stringContaining('seal 99, which was noted, is not there'),
    });
    expect(await runCli('nonsense')).toMatchObject({ code: 2 });
  });

  test('says how many entries are not sealed yet', async () => {
    await world.give(world.person().userId, 1);
    expect((await runCli()).output).toContain('1 entries are not sealed yet');
    await world.wallet.sealLedger();
    expect((await runCli()).output).not.toContain('not sealed');
  });

  test('finds the seals where the configuration says they are', async () => {
    const elsewhere = await runCli(undefined, {
      LEDGER_SEALS_DATABASE: `${world.config.MONGODB_DATABASE}_other`,
    });
    expect(elsewhere.code).toBe(1);
    expect(elsewhere.output).toContain('which is not there');
    expect(await runCli(undefined, { LEDGER_SEALS_DATABASE: 'not a name' })).toMatchObject({ code: 78 });
  });
});

describe('while the product goes on', () => {
  test('twenty callers that book, hold and settle beside the audits make no false difference', async () => {
    const people = Array.from({ length: 10 }, () => world.person());
    for (const { userId: id } of people) await world.give(id, 10_000);
    let busy = true;
    const work = together(20, async (index) => {
      const as = people[index % people.length]!;
      for (let round = 0; busy && round < 60; round += 1) {
        const answer = await world.send('POST', '/payments/withdrawals', {
          as,
          body: { amount: 1 + (index % 5) },
        });
        if (answer.status === 201) {
          const verb = round % 2 === 0 ? 'pay' : 'reject';
          await world.send('POST', `/payments/${answer.body.payment.id}/${verb}`, { as: OPERATOR });
        }
        await world.give(as.userId, 3);
      }
    });
    for (let round = 0; round < 3; round += 1) {
      await world.wallet.sealLedger();
      expect((await world.inspect()).difference).toBeUndefined();
    }
    busy = false;
    await work;
    expect((await world.audit()).difference).toBeUndefined();
  });
});
