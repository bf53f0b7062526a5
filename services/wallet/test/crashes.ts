/**
 * A process is killed while each of its wallet instances waits before a different database command. The commands belong to
 * bookings, deposits, withdrawals, settlements and seals. Repeated on another process, each takes effect exactly once.
 * crash.test.ts kills at the commits, crash.long.test.ts before every command.
 */
import { randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { WalletDefinition } from '@fitness/proto/gen/fitness/wallet/v1/Wallet.ts';
import type { GrpcClient } from '@fitness/shared/grpc/client.ts';
import { grpcDefinitions } from '@fitness/shared/grpc/load.ts';
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { MINUTE_MS, systemClock } from '@fitness/shared/kernel/clock.ts';
import {
  type CrashTestProcess,
  type Instance,
  openInstance,
  startCrashTestProcess,
} from '@fitness/shared/testing/crash.ts';
import {
  type Answer,
  apiClient,
  eventually,
  type Send,
  testClient,
} from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { atTheBank, type Harness, OPERATOR, startHarness } from './support.ts';

/** The commands of each request in their order, and of the first sealing round of an instance from its fifth command. */
const COMMANDS = {
  sale: ['findAndModify sequences', 'bulkWrite', 'commitTransaction'],
  withdrawal: [
    'insert idempotency_keys',
    'find wallets',
    'findAndModify sequences',
    'update wallets',
    'bulkWrite',
    'find wallets',
    'update idempotency_keys',
    'findAndModify sequences',
    'insert outbox',
    'commitTransaction',
    'update idempotency_keys',
  ],
  rejection: [
    'find payments',
    'find payments',
    'find wallets',
    'findAndModify payments',
    'bulkWrite',
    'findAndModify audit_sequences',
    'insert audit_entries',
    'findAndModify sequences',
    'insert outbox',
    'commitTransaction',
    'find wallets',
  ],
  opening: [
    'insert idempotency_keys',
    'findAndModify sequences',
    'findAndModify wallets',
    'commitTransaction',
    'update wallets',
    'insert payments',
    'update idempotency_keys',
    'commitTransaction',
    'update idempotency_keys',
  ],
  callback: [
    'find payments',
    'find wallets',
    'find wallets',
    'findAndModify payments',
    'bulkWrite',
    'findAndModify sequences',
    'insert outbox',
    'commitTransaction',
  ],
};
const SEAL: Readonly<Record<number, string>> = {
  5: 'find ledger_entries',
  6: 'insert ledger_seals',
  7: 'update ledger_entries',
  11: 'commitTransaction',
};

/** Numbers of commands; a process is killed before each of them. */
type KillPoints = Readonly<Record<keyof typeof COMMANDS | 'seal', readonly number[]>>;

/** Before each command; one more number lets the request complete. */
const everyCommand = (commands: readonly string[]): number[] => [
  ...commands.map((_, index) => index + 1),
  commands.length + 1,
];
export const EVERY_COMMAND: KillPoints = {
  sale: everyCommand(COMMANDS.sale),
  withdrawal: everyCommand(COMMANDS.withdrawal),
  rejection: everyCommand(COMMANDS.rejection),
  opening: everyCommand(COMMANDS.opening),
  callback: everyCommand(COMMANDS.callback),
  seal: Object.keys(SEAL).map(Number),
};

const PROGRAM = fileURLToPath(new URL('./crash-process.ts', import.meta.url));
const BALANCE = 10_000;
const AMOUNT = 1_000;

let harness: Harness;
let crashing: CrashTestProcess | undefined;

interface Client {
  send: Send;
  book: GrpcClient<WalletDefinition>;
}

/** One user and one request. */
interface Case {
  as: UserCaller;
  seller: UserCaller;
  key: string;
  /** The prepared withdrawal or callback. */
  target: string;
  /** The command before which the process was killed; undefined when the request completed. */
  killedBefore?: string | undefined;
}

interface Scenario {
  /** Creates the target of the request. */
  prepare?(each: Case): Promise<string>;
  request(client: Client, each: Case): Promise<unknown>;
}

const clientOf = ({ url, grpcAddress }: Instance): Client => ({
  send: apiClient('wallet', url),
  book: testClient('wallet', grpcDefinitions.wallet(), grpcAddress, { deadlineMs: 20_000 }),
});
const harnessClient = (): Client => ({ send: harness.send, book: harness.grpc });

const newCase = async (scenario: Scenario): Promise<Case> => {
  const each = { as: harness.person(), seller: harness.person(), key: randomUUID(), target: '' };
  await harness.give(each.as.userId, BALANCE);
  // The seller has a wallet, like most sellers.
  await harness.give(each.seller.userId, 1);
  return scenario.prepare === undefined ? each : { ...each, target: await scenario.prepare(each) };
};

/** Stops one instance before each of these commands. */
const stopAt = async (
  process: CrashTestProcess,
  scenario: Scenario,
  points: readonly number[],
): Promise<Case[]> => {
  const cases: Case[] = [];
  for (const nth of points) {
    const each = await newCase(scenario);
    const instance = await openInstance(process, nth);
    const killedBefore = await instance.heldBefore(scenario.request(clientOf(instance), each));
    cases.push({ ...each, killedBefore });
  }
  return cases;
};

const sale: Scenario = {
  request: ({ book }, { as, seller, key }) =>
    book.call('Book', {
      idempotency_key: key,
      bookings: [
        { user_id: as.userId, type: 'purchase', amount: AMOUNT },
        { user_id: seller.userId, type: 'income', amount: AMOUNT },
        { user_id: seller.userId, type: 'commission', amount: 100 },
      ],
    }),
};

const withdrawal: Scenario = {
  request: ({ send }, { as, key }) => {
    const headers = { 'idempotency-key': key };
    return send('POST', '/payments/withdrawals', { as, body: { amount: AMOUNT }, headers });
  },
};

const openWithdrawal = async ({ as }: Case): Promise<string> => {
  const answer = await harness.send('POST', '/payments/withdrawals', { as, body: { amount: AMOUNT } });
  return String(answer.body.payment.id);
};

const rejection: Scenario = {
  prepare: openWithdrawal,
  request: ({ send }, { target, key }) =>
    send('POST', `/payments/${target}/reject`, { as: OPERATOR, headers: { 'idempotency-key': key } }),
};

const callback: Scenario = {
  prepare: async ({ as }) => {
    const opened = await harness.send('POST', '/payments/deposit', { as, body: { amount: AMOUNT } });
    return atTheBank(harness, opened.body.payment_url, 'pay');
  },
  request: ({ send }, { target }) => send('GET', target),
};

/** The entry in the journal comes before the commit. */
const opening: Scenario = {
  request: ({ send }, { as, key }) => {
    const headers = { 'idempotency-key': key };
    return send('POST', '/payments/deposit', { as, body: { amount: AMOUNT }, headers });
  },
};

/** The user ids and track ids in the journal. */
const inJournal = async (): Promise<{ user_id: number; track_id: string }[]> => {
  const folder = join(harness.config.JOURNAL_DIRECTORY, 'deposits');
  const files = await readdir(folder);
  return Promise.all(files.map(async (name) => JSON.parse(await readFile(join(folder, name), 'utf8'))));
};

/** The commands before which sealing stopped, and the payments to be published. */
let sealSteps: (string | undefined)[] = [];
let sealedIds: number[] = [];

/** Stops an instance before the `nth` command of its sealing round. */
const stopSealing = async (process: CrashTestProcess, nth: number): Promise<void> => {
  sealedIds.push(await harness.give(harness.person().userId, 3));
  const instance = await openInstance(process, nth);
  sealSteps.push(await instance.heldBefore(instance.work('seal')));
};

const scenarios = { sale, withdrawal, rejection, opening, callback };
const played = new Map<Scenario, Case[]>();
const casesOf = (scenario: Scenario): Case[] => played.get(scenario) ?? [];

const start = async (points: KillPoints): Promise<void> => {
  // The module is loaded once for all test files of a worker.
  sealSteps = [];
  sealedIds = [];
  // More than a minute ahead of the killed process, which claims an Idempotency-Key for one minute.
  const clock = { now: () => new Date(systemClock.now().getTime() + 2 * MINUTE_MS) };
  harness = await startHarness({ LEDGER_SEAL_SECONDS: 3_600 }, { clock });
  // Creates counters and collections.
  await withdrawal.request(harnessClient(), await newCase(withdrawal));
  await rejection.request(harnessClient(), await newCase(rejection));
  await harness.wallet.sealLedger();
  crashing = startCrashTestProcess(PROGRAM, { ...harness.config });
  for (const nth of points.seal) {
    // Leaves no unfinished seal of the previous instance to this one.
    await harness.wallet.sealLedger();
    await stopSealing(crashing, nth);
  }
  for (const [name, scenario] of Object.entries(scenarios))
    played.set(scenario, await stopAt(crashing, scenario, points[name as keyof typeof scenarios]));
  await crashing.kill();
  // What ten seconds would do: the killed process may hold the lease of the outbox.
  await harness.connection.collection('relay_leases').updateMany({}, { $set: { until: new Date(0) } });
};

/** Repeats each request on the running service until it is done. Resolves with the responses. */
const finish = async <Result>(scenario: Scenario, isDone: (result: Result) => boolean): Promise<Result[]> => {
  const repeated = casesOf(scenario).map((each) =>
    eventually(async () => {
      const result = (await scenario.request(harnessClient(), each)) as Result;
      return isDone(result) ? result : undefined;
    }),
  );
  return Promise.all(repeated);
};

/** 409: the killed process still holds the key; 503: it still holds locks. */
const answered = ({ status }: Answer): boolean => ![409, 503].includes(status);
const statuses = (answers: Answer[]): Set<number> => new Set(answers.map(({ status }) => status));

const balances = async (scenario: Scenario, whose: 'as' | 'seller' = 'as'): Promise<Set<number>> =>
  new Set(await Promise.all(casesOf(scenario).map((each) => harness.balanceOf(each[whose].userId))));

/** Waits for exactly one event of the type per payment; the same event may be delivered repeatedly. */
const publishedOnce = (type: string, payments: readonly number[]): Promise<true> =>
  eventually(() => {
    const published = payments.map((id) => {
      const mine = harness.tap.events.filter((event) => event.type === type && event.subject === String(id));
      return new Set(mine.map((event) => event.id)).size;
    });
    if (published.some((times) => times > 1)) throw new Error(`${type}: published ${published.join()} times`);
    return published.every((times) => times === 1) ? true : undefined;
  });

export const testCrashes = (points: KillPoints): void => {
  beforeAll(() => start(points));

  afterAll(async () => {
    await crashing?.kill();
    await harness.close();
  });

  test('each process was killed before the expected command', () => {
    for (const name of Object.keys(scenarios) as (keyof typeof scenarios)[])
      expect([name, casesOf(scenarios[name]).map(({ killedBefore }) => killedBefore)]).toEqual([
        name,
        points[name].map((nth) => COMMANDS[name][nth - 1]),
      ]);
    expect(sealSteps).toEqual(points.seal.map((nth) => SEAL[nth]));
  });

  test('a repeated sale is booked completely and once', async () => {
    await finish<{ payment_ids: number[] }>(sale, ({ payment_ids: ids }) => ids.length === 3);
    expect(await balances(sale)).toEqual(new Set([BALANCE - AMOUNT]));
    expect(await balances(sale, 'seller')).toEqual(new Set([1 + AMOUNT - 100]));
  });

  test('a repeated withdrawal holds its amount once', async () => {
    const answers = await finish<Answer>(withdrawal, answered);
    expect(statuses(answers)).toEqual(new Set([201]));
    expect(await balances(withdrawal)).toEqual(new Set([BALANCE - AMOUNT]));
    for (const [index, { as }] of casesOf(withdrawal).entries()) {
      const { body } = await harness.send('GET', '/payments?type=withdrawal', { as });
      expect(body.data).toEqual([answers[index]?.body.payment]);
    }
    await publishedOnce(
      'wallet.payment.booked',
      answers.map(({ body }) => body.payment.id),
    );
  });

  test('a repeated rejection releases a withdrawal once', async () => {
    const recorded = (target: string) =>
      harness.connection
        .collection('audit_entries')
        .countDocuments({ action: 'withdrawal.reject', subject_id: Number(target) });
    const killed = casesOf(rejection).filter(({ killedBefore }) => killedBefore === 'commitTransaction');
    expect(killed).toHaveLength(1);
    expect(await Promise.all(killed.map(({ target }) => recorded(target)))).toEqual([0]);
    // The status is 200 even if the killed process had completed the rejection.
    expect(statuses(await finish<Answer>(rejection, answered))).toEqual(new Set([200]));
    expect(await balances(rejection)).toEqual(new Set([BALANCE]));
    await publishedOnce(
      'wallet.withdrawal.settled',
      casesOf(rejection).map(({ target }) => Number(target)),
    );
    const entries = await Promise.all(casesOf(rejection).map(({ target }) => recorded(target)));
    expect(new Set(entries)).toEqual(new Set([1]));
  });

  test('every opened deposit is in the journal before its commit', async () => {
    // The first commit is the one that counts the order.
    const killed = casesOf(opening).findLast(({ killedBefore }) => killedBefore === 'commitTransaction');
    const ofKilled = (await inJournal()).filter(({ user_id: id }) => id === killed?.as.userId);
    expect(ofKilled).toHaveLength(1);
    const deposits = () =>
      harness.connection
        .collection('payments')
        .find({ type: 'deposit', user_id: { $in: casesOf(opening).map(({ as }) => as.userId) } })
        .toArray();
    expect((await deposits()).map(({ user_id: id }) => id)).not.toContain(killed?.as.userId);
    expect(statuses(await finish<Answer>(opening, answered))).toEqual(new Set([201]));
    const journaled = new Set((await inJournal()).map(({ track_id: trackId }) => trackId));
    const opened = await deposits();
    expect(opened).toHaveLength(casesOf(opening).length);
    expect(opened.filter(({ gateway }) => !journaled.has(gateway.track_id))).toEqual([]);
  });

  test('a repeated callback credits a deposit once', async () => {
    const answers = await finish<Answer>(callback, answered);
    expect(statuses(answers)).toEqual(new Set([200]));
    for (const { body } of answers) {
      expect(body.payment.is_done).toBe(true);
      expect(body.payment.description.split('\n')).toEqual([
        expect.any(String),
        body.payment.meta.ref_number,
      ]);
    }
    expect(await balances(callback)).toEqual(new Set([BALANCE + AMOUNT]));
    await publishedOnce(
      'wallet.payment.booked',
      answers.map(({ body }) => body.payment.id),
    );
  });

  test('the next round completes an interrupted seal: every entry is sealed and published once', async () => {
    await harness.wallet.sealLedger();
    const published = (): number[] => {
      const seals = harness.tap.events.filter(({ type }) => type === 'wallet.ledger.sealed');
      const unique = new Map(
        seals.map(({ id, data }) => [id, data as { payments: { payment_id: number }[] }]),
      );
      return [...unique.values()].flatMap(({ payments }) => payments.map(({ payment_id: id }) => id));
    };
    await eventually(() => sealedIds.every((id) => published().includes(id)));
    expect(
      published()
        .filter((id) => sealedIds.includes(id))
        .sort((one, other) => one - other),
    ).toEqual(sealedIds);
  });

  test('the audit finds no difference after these tests', async () => {
    const report = await harness.audit();
    expect(report.difference).toBeUndefined();
    expect(report.unsealed).toBe(0);
  });
};
