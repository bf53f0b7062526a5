import { execFile } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { createAudit } from '../src/domain/audit.ts';
import { atTheBank, OPERATOR, startWorld, type World } from './support.ts';

let world: World;

beforeAll(async () => {
  world = await startWorld();
});

afterAll(() => world.close());

/** The whole process, as an operator runs it. */
const runCli = (): Promise<{ code: number; output: string }> =>
  new Promise((resolve) => {
    const script = new URL('../src/audit-cli.ts', import.meta.url).pathname;
    const { MONGODB_URI, MONGODB_DATABASE } = world.config;
    const env = { PATH: process.env.PATH, MONGODB_URI, MONGODB_DATABASE };
    execFile(process.execPath, [script], { env }, (error, stdout, stderr) =>
      resolve({ code: Number(error?.code ?? 0), output: `${stdout}${stderr}` }),
    );
  });

type Command =
  | { kind: 'give' | 'buy' | 'withdraw'; user: number; amount: number }
  | { kind: 'sell'; user: number; to: number; amount: number }
  | { kind: 'deposit'; user: number; amount: number; click: 'pay' | 'cancel' }
  | { kind: 'pay' | 'reject' | 'replay'; pick: number };

const user = fc.nat(3);
const amount = fc.integer({ min: 1, max: 5_000 });
const pick = fc.nat(1_000);
const commands: fc.Arbitrary<Command> = fc.oneof(
  fc.record({ kind: fc.constantFrom('give', 'buy', 'withdraw'), user, amount }),
  fc.record({ kind: fc.constant('sell' as const), user, to: user, amount }),
  fc.record({
    kind: fc.constant('deposit' as const),
    user,
    amount: fc.integer({ min: 1_000, max: 9_000 }),
    click: fc.constantFrom('pay', 'cancel'),
  }),
  fc.record({ kind: fc.constantFrom('pay', 'reject', 'replay'), pick }),
);

describe('random histories', () => {
  const runHistory = async (history: readonly Command[], callers: number): Promise<void> => {
    const people = Array.from({ length: 4 }, () => world.person());
    const withdrawals: number[] = [];
    const booked: Parameters<World['book']>[0][] = [];
    const idOf = (index: number): number => people[index]?.userId ?? 0;
    const book = async (request: Parameters<World['book']>[0]): Promise<void> => {
      await world.book(request).then(
        () => booked.push(request),
        (error: { code: string }) => expect(error.code).toBe('payments.insufficient_balance'),
      );
    };
    const act = async (command: Command): Promise<void> => {
      const idempotency_key = crypto.randomUUID();
      switch (command.kind) {
        case 'give':
        case 'buy': {
          const type = command.kind === 'give' ? 'income' : 'purchase';
          const bookings = [{ user_id: idOf(command.user), type, amount: command.amount }];
          return book({ idempotency_key, bookings });
        }
        case 'sell': {
          const bookings = [
            { user_id: idOf(command.user), type: 'purchase', amount: command.amount },
            { user_id: idOf(command.to), type: 'income', amount: command.amount },
            { user_id: idOf(command.to), type: 'commission', amount: Math.ceil(command.amount / 10) },
          ];
          return book({ idempotency_key, bookings });
        }
        case 'withdraw': {
          const as = people[command.user];
          const body = { amount: command.amount };
          const answer = await world.send('POST', '/payments/withdrawals', { ...(as ? { as } : {}), body });
          expect([201, 422]).toContain(answer.status);
          if (answer.status === 201) withdrawals.push(answer.body.payment.id);
          return;
        }
        case 'deposit': {
          const as = people[command.user];
          const body = { amount: command.amount };
          const { body: opened } = await world.send('POST', '/payments/deposit', {
            ...(as ? { as } : {}),
            body,
          });
          const callback = await atTheBank(world, opened.payment_url, command.click);
          await Promise.all([world.send('GET', callback), world.send('GET', callback)]);
          return;
        }
        case 'pay':
        case 'reject': {
          const id = withdrawals[command.pick % Math.max(1, withdrawals.length)];
          if (id === undefined) return;
          const answer = await world.send('POST', `/payments/${id}/${command.kind}`, { as: OPERATOR });
          expect([200, 409]).toContain(answer.status);
          return;
        }
        case 'replay': {
          const request = booked[command.pick % Math.max(1, booked.length)];
          if (request !== undefined) expect(await world.book(request)).toMatchObject({ replayed: true });
        }
      }
    };
    const queue = [...history];
    const work = async (): Promise<void> => {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) await act(next);
    };
    await Promise.all(Array.from({ length: callers }, work));
    expect((await world.audit()).difference).toBeUndefined();
    for (const { userId } of people) expect(await world.balanceOf(userId)).toBeGreaterThanOrEqual(0);
  };

  test('whatever happens at once, the stored balances are those that the payments and the rows add up to', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(commands, { minLength: 30, maxLength: 60 }), (history) =>
        runHistory(history, 8),
      ),
      { numRuns: 4, seed: 20_260_115, endOnFailure: true },
    );
  });
});

describe('the auditor', () => {
  test('says so when everything adds up, and exits 0', async () => {
    const { code, output } = await runCli();
    expect(output).toMatch(/^\d+ payments, \d+ entries, \d+ wallets: everything adds up\n$/);
    expect(code).toBe(0);
  });

  const collection = (name: string) => world.connection.collection(name);

  /** Changes one document by hand, lets the auditor look, and puts it back. */
  const tamper = async (
    name: string,
    id: unknown,
    change: Record<string, unknown> | 'delete',
  ): Promise<string | undefined> => {
    const original = await collection(name).findOne({ _id: id as never });
    if (original === null) throw new Error(`${name} has no ${String(id)}`);
    if (change === 'delete') await collection(name).deleteOne({ _id: id as never });
    else await collection(name).updateOne({ _id: id as never }, change);
    const { difference } = await world.audit();
    await collection(name).replaceOne({ _id: id as never }, original, { upsert: true });
    return difference;
  };

  test('finds and names whatever was changed by hand', async () => {
    const as = world.person();
    const incomeId = await world.give(as.userId, 10_000);
    const entry = await collection('ledger_entries').findOne({ payment_ids: incomeId });
    const asked = await world.send('POST', '/payments/withdrawals', { as, body: { amount: 4_000 } });
    const heldId: number = asked.body.payment.id;
    const paidId = (await world.send('POST', '/payments/withdrawals', { as, body: { amount: 10 } })).body
      .payment.id;
    await world.send('POST', `/payments/${paidId}/pay`, { as: OPERATOR });
    const wallet = `the balance of user ${as.userId}`;
    const cases: [string, unknown, Record<string, unknown> | 'delete', string][] = [
      [
        'wallets',
        as.userId,
        { $inc: { balance: 1 } },
        `${wallet} is stored as 5991, and 5990 by his payments`,
      ],
      ['wallets', as.userId, 'delete', `${wallet} is stored as 0`],
      ['payments', incomeId, { $inc: { amount: 1 } }, 'other rows than its payments call for'],
      ['payments', incomeId, { $set: { amount: 0.5 } }, `payment ${incomeId} has the amount 0.5`],
      ['payments', incomeId, 'delete', 'is for a payment that is not there'],
      [
        'payments',
        heldId,
        { $set: { is_done: true } },
        `payment ${heldId} has no entry of kind withdrawal_paid`,
      ],
      ['payments', heldId, { $set: { rejected_at: new Date(0) } }, 'no entry of kind withdrawal_rejected'],
      ['payments', paidId, { $set: { is_done: false } }, `does not belong to payment ${paidId}`],
      [
        'payments',
        paidId,
        { $set: { rejected_at: new Date(0) } },
        `payment ${paidId} is both done and rejected`,
      ],
      ['ledger_entries', entry?._id, { $inc: { 'rows.0.amount': 1 } }, 'are off by 1'],
      ['ledger_entries', entry?._id, { $set: { rows: [] } }, 'other rows than its payments call for'],
      ['ledger_entries', entry?._id, { $set: { 'rows.0.account': 'wallet:0' } }, 'unknown account wallet:0'],
      ['ledger_entries', entry?._id, 'delete', `payment ${incomeId} has no entry of kind booking`],
      ['ledger_entries', `withdrawal_paid:${paidId}`, 'delete', `payment ${paidId} has no entry`],
    ];
    for (const [name, id, change, expected] of cases) {
      expect(await tamper(name, id, change)).toContain(expected);
      expect((await world.audit()).difference).toBeUndefined();
    }
  });

  test('names the first difference and exits 1', async () => {
    const { userId } = world.person();
    await world.give(userId, 77);
    await collection('wallets').updateOne({ _id: userId as never }, { $set: { balance: 78 } });
    const { code, output } = await runCli();
    await collection('wallets').updateOne({ _id: userId as never }, { $set: { balance: 77 } });
    expect(output).toContain(`the balance of user ${userId} is stored as 78, and 77 by his payments`);
    expect(code).toBe(1);
  });

  test('finds a payment that was booked twice', () => {
    const audit = createAudit();
    const rows = [
      { account: 'wallet:1' as const, amount: 5 },
      { account: 'revenue' as const, amount: -5 },
    ];
    const createdAt = new Date(0);
    audit.payment({
      id: 1,
      userId: 1,
      type: 'income',
      amount: 5,
      description: null,
      payableType: null,
      payableId: null,
      meta: null,
      isDone: true,
      rejectedAt: null,
      createdAt,
      version: 1,
      gateway: null,
    });
    for (const key of ['one', 'two'])
      audit.entry({ key, kind: 'booking', inputHash: null, rows, paymentIds: [1] });
    audit.wallet({ userId: 1, balance: 5 });
    expect(audit.report().difference).toBe('payment 1 is booked twice as booking');
  });
});
