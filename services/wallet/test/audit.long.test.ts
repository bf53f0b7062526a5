import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { AUDIT_RESULTS } from '@fitness/shared/audit/results.ts';
import { headText, type Seal, sealHash } from '@fitness/shared/kernel/seal.ts';
import { startMongoProxy } from '@fitness/shared/testing/mongo-proxy.ts';
import { countedProgress } from '@fitness/shared/testing/progress.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { LedgerEntry } from '../src/domain/ledger.ts';
import { entryHash } from '../src/domain/seal.ts';
import { createSeals } from '../src/store/seals.ts';
import { atTheBank, type Harness, OPERATOR, startHarness, together } from './support.ts';

type Row = Record<string, unknown>;

let harness: Harness;
/** A user with an income of 10,000, an open withdrawal of 4,000 and a paid one of 10. */
let userId: number;
let incomeId: number;
let otherIncomeId: number;
let heldId: number;
let paidId: number;
/** The keys of the entries of the two incomes. */
let incomeKey: string;
let otherKey: string;

const entryOf = async (paymentId: number): Promise<Row> => {
  const entry = await harness.connection.collection('ledger_entries').findOne({ payment_ids: paymentId });
  if (entry === null) throw new Error(`payment ${paymentId} has no entry`);
  return entry;
};

beforeAll(async () => {
  // The job does not run during the tests.
  harness = await startHarness({ LEDGER_SEAL_SECONDS: 3_600 });
  const as = harness.person();
  userId = as.userId;
  incomeId = await harness.give(userId, 10_000);
  otherIncomeId = await harness.give(harness.person().userId, 300);
  const ask = async (amount: number): Promise<number> =>
    (await harness.send('POST', '/payments/withdrawals', { as, body: { amount } })).body.payment.id;
  heldId = await ask(4_000);
  paidId = await ask(10);
  await harness.send('POST', `/payments/${paidId}/pay`, { as: OPERATOR });
  const deposit = await harness.send('POST', '/payments/deposit', { as, body: { amount: 1_000 } });
  await harness.send('GET', await atTheBank(harness, deposit.body.payment_url, 'cancel'));
  await harness.wallet.sealLedger();
  await harness.give(userId, 1);
  await harness.wallet.sealLedger();
  incomeKey = String((await entryOf(incomeId))._id);
  otherKey = String((await entryOf(otherIncomeId))._id);
});

afterAll(() => harness.close());

/** Runs the command as a process. */
const runCli = (
  argument?: string,
  changes: Record<string, string> = {},
): Promise<{ code: number; output: string }> =>
  new Promise((resolve) => {
    const script = new URL('../src/audit-cli.ts', import.meta.url).pathname;
    const { MONGODB_URI, MONGODB_DATABASE } = harness.config;
    const env = { PATH: process.env.PATH, MONGODB_URI, MONGODB_DATABASE, ...changes };
    const args = argument === undefined ? [script] : [script, argument];
    execFile(process.execPath, args, { env }, (error, stdout, stderr) =>
      resolve({ code: Number(error?.code ?? 0), output: `${stdout}${stderr}` }),
    );
  });

/** Runs the command on a database that delays the first read of the wallets until a line of progress is shown. */
const runSlowly = async (): Promise<{ code: unknown; shown: string; rest: string; output: string }> => {
  const proxy = await startMongoProxy(harness.config.MONGODB_URI);
  const script = new URL('../src/audit-cli.ts', import.meta.url).pathname;
  const { MONGODB_DATABASE } = harness.config;
  const { PATH } = process.env;
  const env = {
    PATH,
    MONGODB_URI: proxy.uri,
    MONGODB_DATABASE,
    LEDGER_SEALS_MONGODB_URI: harness.config.MONGODB_URI,
  };
  const readHeld = proxy.holdAt((command, name) => command === 'find' && name === 'wallets');
  const child = spawn(process.execPath, [script], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  try {
    const ended = once(child, 'close');
    const output = text(child.stdout);
    await readHeld;
    const [shown] = await once(child.stderr.setEncoding('utf8'), 'data');
    const rest = text(child.stderr);
    proxy.restore();
    const [code] = await ended;
    return { code, shown, rest: await rest, output: await output };
  } finally {
    child.kill();
    await proxy.close();
  }
};

const databaseOf = (name: string) => (name === 'ledger_seals' ? harness.sealConnection : harness.connection);
const collection = (name: string) => databaseOf(name).collection(name);

/** The difference that the audit finds after `change`; restores the documents afterwards. */
const tamper = async (
  name: string,
  ids: readonly unknown[],
  change: () => Promise<unknown>,
): Promise<string | undefined> => {
  const those = { _id: { $in: ids as never[] } };
  const originals = await collection(name).find(those).toArray();
  await change();
  try {
    return (await harness.inspect()).difference;
  } finally {
    await collection(name).deleteMany(those);
    if (originals.length > 0) await collection(name).insertMany(originals);
  }
};

const update = (name: string, id: unknown, change: Row) => () =>
  collection(name).updateOne({ _id: id as never }, change);
const remove = (name: string, id: unknown) => () => collection(name).deleteOne({ _id: id as never });

/** Changes an entry and its hash. */
const rewriteEntry = (key: string, change: (entry: LedgerEntry) => LedgerEntry) => async () => {
  const document = (await collection('ledger_entries').findOne({ _id: key as never })) as Row;
  const entry = change({
    key,
    kind: document.kind as LedgerEntry['kind'],
    inputHash: document.input_hash as string | null,
    rows: document.rows as LedgerEntry['rows'],
    paymentIds: document.payment_ids as number[],
  });
  await update('ledger_entries', key, {
    $set: {
      rows: entry.rows,
      payment_ids: entry.paymentIds,
      hash: entryHash(entry, document.booked_at as Date),
    },
  })();
};

/** Inserts a balanced entry with a valid hash. */
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

const seals = (): Promise<Seal[]> => createSeals(harness.sealConnection).after(0, 100);

describe('manual changes', () => {
  const cases: [string, string, () => readonly unknown[], () => Promise<unknown>, () => string][] = [
    // Balances
    [
      'a changed balance',
      'wallets',
      () => [userId],
      () => update('wallets', userId, { $inc: { balance: 1 } })(),
      () => `the balance of user ${userId} is stored as 5992, but is 5991 by the payments`,
    ],
    [
      'a balance below zero',
      'wallets',
      () => [userId],
      () => update('wallets', userId, { $set: { balance: -1 } })(),
      () => `the balance of user ${userId} is stored as -1`,
    ],
    [
      'a removed wallet',
      'wallets',
      () => [userId],
      () => remove('wallets', userId)(),
      () => `the wallet of user ${userId} does not exist`,
    ],
    // Rows
    [
      'a changed amount of a row',
      'ledger_entries',
      () => [incomeKey],
      () => update('ledger_entries', incomeKey, { $inc: { 'rows.0.amount': 1 } })(),
      () => `entry ${incomeKey} is not what was sealed in 1`,
    ],
    [
      'changed amounts with a zero sum and a matching hash',
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
      'a row moved to another account',
      'ledger_entries',
      () => [incomeKey],
      () => update('ledger_entries', incomeKey, { $set: { 'rows.1.account': 'commission' } })(),
      () => `entry ${incomeKey} is not what was sealed in 1`,
    ],
    [
      'a removed entry',
      'ledger_entries',
      () => [incomeKey],
      () => remove('ledger_entries', incomeKey)(),
      () => `entry ${incomeKey}, sealed in 1, does not exist`,
    ],
    [
      'a removed hold',
      'ledger_entries',
      () => [`withdrawal:${heldId}`],
      () => remove('ledger_entries', `withdrawal:${heldId}`)(),
      () => `entry withdrawal:${heldId}, sealed in 1, does not exist`,
    ],
    [
      'exchanged rows of two entries',
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
      'an entry without its hash',
      'ledger_entries',
      () => [incomeKey],
      () => update('ledger_entries', incomeKey, { $unset: { hash: 1 } })(),
      () => `entry ${incomeKey} is not what was sealed in 1`,
    ],
    [
      'a sealed entry without its mark',
      'ledger_entries',
      () => [incomeKey],
      () => update('ledger_entries', incomeKey, { $set: { seal: null } })(),
      () => `entry ${incomeKey} is sealed in 1, but not marked with it`,
    ],
    [
      'an entry marked with another seal',
      'ledger_entries',
      () => [incomeKey],
      () => update('ledger_entries', incomeKey, { $set: { seal: 2 } })(),
      () => `entry ${incomeKey} is sealed in 1, but not marked with it`,
    ],
    [
      'an inserted entry without a hash',
      'ledger_entries',
      () => ['booking:forged'],
      () => forged('booking:forged', { hash: '' }),
      () => 'entry booking:forged is not what was booked',
    ],
    [
      'an inserted entry of a booked payment',
      'ledger_entries',
      () => ['booking:forged'],
      () => forged('booking:forged'),
      () => 'entry booking:forged has other rows than its payments call for',
    ],
    [
      'an inserted entry without a payment',
      'ledger_entries',
      () => ['booking:forged'],
      () => forged('booking:forged', {}, [987_654_321]),
      () => 'entry booking:forged is for a payment that does not exist',
    ],
    [
      'an inserted entry marked as sealed',
      'ledger_entries',
      () => ['booking:forged'],
      () => forged('booking:forged', { seal: 1 }),
      () => 'entry booking:forged is marked with seal 1, which does not contain it',
    ],
    [
      'an inserted entry marked with an unknown seal',
      'ledger_entries',
      () => ['booking:forged'],
      () => forged('booking:forged', { seal: 99 }),
      () => 'entry booking:forged is marked with seal 99, which does not exist',
    ],
    // Payments
    [
      'a changed amount of a payment',
      'payments',
      () => [incomeId],
      () => update('payments', incomeId, { $inc: { amount: 1 } })(),
      () => `entry ${incomeKey} has other rows than its payments call for`,
    ],
    [
      'an amount that is not an integer',
      'payments',
      () => [incomeId],
      () => update('payments', incomeId, { $set: { amount: 0.5 } })(),
      () => `payment ${incomeId} has the amount 0.5`,
    ],
    [
      'a removed payment',
      'payments',
      () => [incomeId],
      () => remove('payments', incomeId)(),
      () => `entry ${incomeKey} is for a payment that does not exist`,
    ],
    [
      'an inserted payment',
      'payments',
      () => [987_654_321],
      async () => {
        const payment = await collection('payments').findOne({ _id: incomeId as never });
        await collection('payments').insertOne({ ...payment, _id: 987_654_321 as never });
      },
      () => 'payment 987654321 has no entry of kind booking',
    ],
    [
      'exchanged users of two payments',
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
      'a withdrawal marked as paid',
      'payments',
      () => [heldId],
      () => update('payments', heldId, { $set: { is_done: true } })(),
      () => `payment ${heldId} has no entry of kind withdrawal_paid`,
    ],
    [
      'a withdrawal marked as rejected',
      'payments',
      () => [heldId],
      () => update('payments', heldId, { $set: { rejected_at: new Date(0) } })(),
      () => `payment ${heldId} has no entry of kind withdrawal_rejected`,
    ],
    [
      'a paid withdrawal marked as open',
      'payments',
      () => [paidId],
      () => update('payments', paidId, { $set: { is_done: false } })(),
      () => `entry withdrawal_paid:${paidId} does not belong to payment ${paidId}`,
    ],
    [
      'a paid withdrawal also marked as rejected',
      'payments',
      () => [paidId],
      () => update('payments', paidId, { $set: { rejected_at: new Date(0) } })(),
      () => `payment ${paidId} is both done and rejected`,
    ],
    // Seals
    [
      'a changed hash in a seal',
      'ledger_seals',
      () => [1],
      () => update('ledger_seals', 1, { $set: { 'leaves.0.hash': 'f'.repeat(64) } })(),
      () => 'seal 1 is not what was sealed',
    ],
    [
      'the removed first seal',
      'ledger_seals',
      () => [1],
      () => remove('ledger_seals', 1)(),
      () => 'seal 1 does not exist',
    ],
    [
      'the removed newest seal',
      'ledger_seals',
      () => [2],
      () => remove('ledger_seals', 2)(),
      () => 'is marked with seal 2, which does not exist',
    ],
    [
      'a rewritten seal with a matching hash',
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

  test.each(cases)('the audit reports %s', async (_what, name, ids, change, expected) => {
    expect(await tamper(name, ids(), change)).toContain(expected());
    expect((await harness.inspect()).difference).toBeUndefined();
  });

  test('a change with a rewritten chain is found through a head noted before', async () => {
    const { head } = await harness.inspect();
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
      // The databases are consistent again: only the noted head reveals the change.
      expect((await harness.inspect()).difference).toBeUndefined();
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
  test('the command prints the accounts and the head and exits 0 without a difference', async () => {
    const { code, output } = await runCli();
    const [accounts, head, last] = output.trimEnd().split('\n');
    expect(last).toMatch(/^Checked \d+ payments, \d+ entries, \d+ wallets, 2 seals: everything adds up\.$/);
    expect(accounts).toMatch(
      /^accounts: gateway_clearing -999999999990, .*held_withdrawals 4000, .*wallets 999999995990$/,
    );
    const [, newest] = await seals();
    expect(head).toBe(`head: ${headText(newest as Seal)}`);
    expect(code).toBe(0);
  });

  test('the progress of an audit includes every part of its work', async () => {
    const { counts, ...progress } = countedProgress();
    const { entries, payments } = await harness.inspect(undefined, progress);
    expect(counts).toEqual({ expected: 2 * (entries + payments), done: 2 * (entries + payments) });
  });

  test('the command shows its progress and the remaining time on stderr while the database is slow', async () => {
    const { code, shown, rest, output } = await runSlowly();
    const [, done, total] =
      /^\d:\d\d {2}(\d+)\/(\d+) sealed entries, about \d:\d\d left\n$/.exec(shown) ?? [];
    expect([shown, Number(done) > 0, Number(done) < Number(total)]).toEqual([shown, true, true]);
    // On a slow machine there are more lines.
    expect(rest).not.toMatch(/^(?!\d+:\d\d {2}\d+\/\d+ )./m);
    expect(output).toMatch(/: everything adds up\.\n$/);
    expect(output).not.toContain(' left');
    expect(code).toBe(0);
  });

  test('the command prints the first difference and exits 1', async () => {
    await update('wallets', userId, { $inc: { balance: 1 } })();
    const { code, output } = await runCli();
    await update('wallets', userId, { $inc: { balance: -1 } })();
    expect(output).toContain(`the balance of user ${userId} is stored as 5992, but is 5991 by the payments`);
    expect(code).toBe(1);
  });

  test('the command checks that the chain contains a noted head, and exits 2 for an invalid head', async () => {
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
      output: expect.stringContaining('seal 99, which was noted, does not exist'),
    });
    expect(await runCli('nonsense')).toMatchObject({ code: 2 });
  });

  test('the command prints the number of unsealed entries', async () => {
    await harness.give(harness.person().userId, 1);
    expect((await runCli()).output).toContain('1 entry is not sealed yet');
    await harness.wallet.sealLedger();
    expect((await runCli()).output).not.toContain('not sealed');
  });

  test('the command reads the seals from the configured database', async () => {
    const elsewhere = await runCli(undefined, {
      LEDGER_SEALS_DATABASE: `${harness.config.MONGODB_DATABASE}_other`,
    });
    expect(elsewhere.code).toBe(1);
    expect(elsewhere.output).toContain('which does not exist');
    expect(await runCli(undefined, { LEDGER_SEALS_DATABASE: 'not a name' })).toMatchObject({ code: 78 });
  });

  test('the command reports a result that was not recorded: exit code 1 with a difference, 2 without', async () => {
    const proxy = await startMongoProxy(harness.config.MONGODB_URI);
    const servers = { MONGODB_URI: proxy.uri, LEDGER_SEALS_MONGODB_URI: harness.config.MONGODB_URI };
    try {
      proxy.answerAt({
        fits: (command, name) => command === 'update' && name === AUDIT_RESULTS,
        answer: { ok: 0, code: 13, codeName: 'Unauthorized', errmsg: 'not authorized' },
      });
      const err = 'The result was not recorded, so the metrics show the one before: not authorized\n';
      const intact = await runCli(undefined, servers);
      expect(intact).toEqual({ code: 2, output: expect.stringContaining(`everything adds up.\n${err}`) });
      const changed = await runCli(`1:${'0'.repeat(64)}`, servers);
      expect(changed).toEqual({
        code: 1,
        output: expect.stringContaining(`seal 1 is not the one that was noted\n${err}`),
      });
    } finally {
      await proxy.close();
    }
  });

  test('the command accepts the operator’s variable for the name of the database', async () => {
    const { MONGODB_DATABASE: WALLET_MONGODB_DATABASE } = harness.config;
    expect(await runCli(undefined, { MONGODB_DATABASE: '', WALLET_MONGODB_DATABASE })).toMatchObject({
      code: 0,
      output: expect.stringMatching(/Checked [1-9]/),
    });
  });

  test('the command names a hundred erased accounts with a balance, and says that there are more', async () => {
    const ids = Array.from({ length: 101 }, () => harness.person().userId);
    for (const id of ids) await harness.give(id, 7);
    await harness.wallet.sealLedger();
    const wallets = collection('wallets');
    const mine = { _id: { $in: ids as never[] } };
    await wallets.updateMany(mine, { $set: { erased_at: new Date() } });
    const { output } = await runCli();
    expect(output).toContain(`user ${ids[99]} 7, and more`);
    expect(output).not.toContain(`user ${ids[100]} 7`);
    await wallets.updateOne({ _id: ids[0] as never }, { $set: { erased_at: null } });
    expect((await runCli()).output).toContain(`user ${ids[100]} 7\n`);
    await wallets.updateMany(mine, { $set: { erased_at: null } });
  });

  test('the command exits 2 when the database of the seals cannot be reached', async () => {
    expect(await runCli(undefined, { LEDGER_SEALS_MONGODB_URI: 'mongodb://127.0.0.1:1' })).toMatchObject({
      code: 2,
      output: expect.stringContaining('ECONNREFUSED'),
    });
  });
});

describe('concurrent bookings', () => {
  test('twenty callers that book, hold and settle during audits cause no false difference', async () => {
    const people = Array.from({ length: 10 }, () => harness.person());
    for (const { userId: id } of people) await harness.give(id, 10_000);
    let busy = true;
    const work = together(20, async (index) => {
      const as = people[index % people.length]!;
      for (let round = 0; busy && round < 60; round += 1) {
        const answer = await harness.send('POST', '/payments/withdrawals', {
          as,
          body: { amount: 1 + (index % 5) },
        });
        if (answer.status === 201) {
          const verb = round % 2 === 0 ? 'pay' : 'reject';
          await harness.send('POST', `/payments/${answer.body.payment.id}/${verb}`, { as: OPERATOR });
        }
        await harness.give(as.userId, 3);
      }
    });
    for (let round = 0; round < 3; round += 1) {
      await harness.wallet.sealLedger();
      expect((await harness.inspect()).difference).toBeUndefined();
    }
    busy = false;
    await work;
    expect((await harness.audit()).difference).toBeUndefined();
  });
});
