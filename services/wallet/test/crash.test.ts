/**
 * The process is killed before each command that a booking, a deposit, a withdrawal, its settlement or a seal sends its
 * database. Whoever asks again, under the same key and somewhere else, has it once: never half, never twice.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { WalletDefinition } from '@fitness/proto/gen/fitness/wallet/v1/Wallet.ts';
import type { UserCaller } from '@fitness/shared/caller.ts';
import { MINUTE_MS, systemClock } from '@fitness/shared/clock.ts';
import { createGrpcClient, type GrpcClient } from '@fitness/shared/grpc/client.ts';
import { grpcDefinitions } from '@fitness/shared/grpc/load.ts';
import { inTransaction } from '@fitness/shared/mongo/transaction.ts';
import {
  type Answer,
  apiClient,
  eventually,
  type Send,
  testSigner,
} from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { atTheBank, OPERATOR, startWorld, type World } from './support.ts';

const VICTIM = fileURLToPath(new URL('./victim.ts', import.meta.url));
/** The database keeps what a dead process's transaction had locked for up to a minute. */
const RECOVERY = { timeoutMs: 150_000, intervalMs: 500 };
const RECOVERY_TEST_MS = RECOVERY.timeoutMs + 30_000;
/** Commands of the first round of a process: four of them make sure that the newest seal is finished. */
const SEAL = { read: 5, append: 6, mark: 7, commit: 11 };
const BALANCE = 10_000;
const AMOUNT = 1_000;

let world: World;
let compileCache: string;
const children = new Set<ChildProcess>();

interface Door {
  send: Send;
  book: GrpcClient<WalletDefinition>;
}

/** One user, one request, one death. */
interface Case {
  as: UserCaller;
  seller: UserCaller;
  key: string;
  /** A withdrawal, or a callback, that was prepared. */
  target: string;
  /** Undefined when it survived its request. */
  killedBefore?: string | undefined;
}

interface Scene {
  /** What the request is about. */
  prepare?(each: Case): Promise<string>;
  request(door: Door, each: Case): Promise<unknown>;
}

const doorTo = (url: string, grpcAddress: string): Door => ({
  send: apiClient(url),
  book: createGrpcClient({
    definition: grpcDefinitions.wallet(),
    address: grpcAddress,
    target: 'wallet',
    from: 'content',
    signer: testSigner,
    deadlineMs: 20_000,
  }),
});
const livingDoor = (): Door => ({ send: world.send, book: world.grpc });

const variables = (): Record<string, string> => {
  const given = Object.entries(world.config).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given.map(([name, value]) => [name, String(value)]));
};

/** Starts a process that dies before the `killAt`-th command from now on, gives it `work`, and says where it died. */
const runVictim = async (
  killAt: number,
  work: (door: Door, child: ChildProcess) => Promise<unknown>,
): Promise<string | undefined> => {
  const child = fork(VICTIM, {
    env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: compileCache, ...variables() },
    execArgv: ['--disable-warning=ExperimentalWarning'],
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  children.add(child);
  let said = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    said += chunk.toString();
  });
  const [{ url, grpcAddress }] = (await once(child, 'message')) as [{ url: string; grpcAddress: string }];
  const door = doorTo(url, grpcAddress);
  const armed = once(child, 'message');
  child.send({ killAt });
  await armed;
  // With its output read to the end, unlike 'exit'.
  const closed = once(child, 'close');
  await Promise.race([closed, work(door, child).catch(() => undefined)]);
  // What follows the answer has its commands too.
  await Promise.race([closed, new Promise((resolve) => setTimeout(resolve, 1_000))]);
  child.kill('SIGKILL');
  await closed;
  children.delete(child);
  door.book.close();
  return /killed before (.*)\n/.exec(said)?.[1]?.trim();
};

const newCase = async (scene: Scene): Promise<Case> => {
  const each = { as: world.person(), seller: world.person(), key: randomUUID(), target: '' };
  await world.give(each.as.userId, BALANCE);
  // The other side of a sale has had money before, as most sellers have.
  await world.give(each.seller.userId, 1);
  return scene.prepare === undefined ? each : { ...each, target: await scene.prepare(each) };
};

/** Kills at the first command, the second, … until one survives. */
const killEverywhere = async (scene: Scene): Promise<Case[]> => {
  const cases: Case[] = [];
  for (let killAt = 1; ; killAt += 1) {
    const each = await newCase(scene);
    const killedBefore = await runVictim(killAt, (door) => scene.request(door, each));
    cases.push({ ...each, killedBefore });
    if (killedBefore === undefined) return cases;
  }
};

const sale: Scene = {
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

const withdrawal: Scene = {
  request: ({ send }, { as, key }) => {
    const headers = { 'idempotency-key': key };
    return send('POST', '/payments/withdrawals', { as, body: { amount: AMOUNT }, headers });
  },
};

const openWithdrawal = async ({ as }: Case): Promise<string> => {
  const answer = await world.send('POST', '/payments/withdrawals', { as, body: { amount: AMOUNT } });
  return String(answer.body.payment.id);
};

const rejection: Scene = {
  prepare: openWithdrawal,
  request: ({ send }, { target }) => send('POST', `/payments/${target}/reject`, { as: OPERATOR }),
};

const callback: Scene = {
  prepare: async ({ as }) => {
    const opened = await world.send('POST', '/payments/deposit', { as, body: { amount: AMOUNT } });
    return atTheBank(world, opened.body.payment_url, 'pay');
  },
  request: ({ send }, { target }) => send('GET', target),
};

/** Where the sealing process died, and the payments that it had to tell of. */
const sealDeaths: (string | undefined)[] = [];
const sealedIds: number[] = [];

/** A process that seals, and dies before the `killAt`-th command of that. */
const killSealing = async (killAt: number): Promise<void> => {
  sealedIds.push(await world.give(world.person().userId, 3));
  sealDeaths.push(
    await runVictim(killAt, async (_door, child) => {
      const sealed = once(child, 'message');
      child.send({ seal: true });
      await sealed;
    }),
  );
};

const played = new Map<Scene, Case[]>();
const casesOf = (scene: Scene): Case[] => played.get(scene) ?? [];
const stepsOf = (scene: Scene): string[] => casesOf(scene).flatMap(({ killedBefore }) => killedBefore ?? []);

beforeAll(async () => {
  compileCache = await mkdtemp(join(tmpdir(), 'wallet-crash-'));
  // Always ahead of the dead by more than the minute for which a claim of an Idempotency-Key is theirs.
  const clock = { now: () => new Date(systemClock.now().getTime() + 2 * MINUTE_MS) };
  world = await startWorld({ LEDGER_SEAL_SECONDS: 3_600 }, { clock });
  // The counters, and everything else that comes into being once.
  await withdrawal.request(livingDoor(), await newCase(withdrawal));
  await world.wallet.sealLedger();
  for (const killAt of [SEAL.read, SEAL.append, SEAL.mark]) {
    await killSealing(killAt);
    // The next one begins with a finished seal.
    await world.wallet.sealLedger();
  }
  await killSealing(SEAL.commit);
  // All of them first, and side by side: what the dead had locked becomes free in the same minute.
  const scenes = [sale, withdrawal, rejection, callback];
  await Promise.all(scenes.map(async (scene) => played.set(scene, await killEverywhere(scene))));
}, 400_000);

afterAll(async () => {
  for (const child of children) child.kill('SIGKILL');
  await world.close();
  await rm(compileCache, { recursive: true, force: true });
}, 120_000);

/**
 * Runs `work` beside transactions that do nothing, one a second: one stand-in of the database ends what the dead have
 * left open, a minute after them, only when it begins another, and lets a write that is in no transaction wait for that.
 */
const stirring = async <T>(work: () => Promise<T>): Promise<T> => {
  let isDone = false;
  const stir = async (): Promise<void> => {
    while (!isDone) {
      // One that does not get through has stirred as well.
      await inTransaction(world.connection, (session) =>
        world.connection.collection('payments').findOne({}, { session }),
      ).catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, 1_000));
    }
  };
  const [result] = await Promise.all([work().finally(() => (isDone = true)), stir()]);
  return result;
};

/** Asks a living process until it answers, as a client does, and gives the answers. */
const finish = async <Result>(scene: Scene, isDone: (result: Result) => boolean): Promise<Result[]> => {
  const asked = casesOf(scene).map((each) =>
    eventually(async () => {
      try {
        const result = (await scene.request(livingDoor(), each)) as Result;
        return isDone(result) ? result : undefined;
      } catch (error) {
        // A transaction of the dead stands in the way.
        if ((error as { kind?: string }).kind !== 'unavailable') throw error;
        return undefined;
      }
    }, RECOVERY),
  );
  return stirring(() => Promise.all(asked));
};

/** 409: the key is still the dead one's; 503: what it had locked is. */
const answered = ({ status }: Answer): boolean => ![409, 503].includes(status);
const statuses = (answers: Answer[]): Set<number> => new Set(answers.map(({ status }) => status));

const balances = async (scene: Scene, whose: 'as' | 'seller' = 'as'): Promise<Set<number>> =>
  new Set(await Promise.all(casesOf(scene).map((each) => world.balanceOf(each[whose].userId))));

/** How many events of a type there were about these payments: delivered more than once perhaps, but one each. */
const toldOnce = (type: string, payments: readonly number[]): Promise<true> =>
  eventually(() => {
    const told = payments.map((id) => {
      const mine = world.tap.events.filter((event) => event.type === type && event.subject === String(id));
      return new Set(mine.map((event) => event.id)).size;
    });
    if (told.some((times) => times > 1)) throw new Error(`${type}: told ${told.join()} times`);
    return told.every((times) => times === 1) ? true : undefined;
  });

describe('killed before each of its commands', () => {
  test(
    'a sale is booked once, whole, by whoever repeats its key',
    async () => {
      expect(stepsOf(sale)).toEqual(['findAndModify sequences', 'bulkWrite', 'commitTransaction']);
      await finish<{ payment_ids: number[] }>(sale, ({ payment_ids: ids }) => ids.length === 3);
      expect(await balances(sale)).toEqual(new Set([BALANCE - AMOUNT]));
      expect(await balances(sale, 'seller')).toEqual(new Set([1 + AMOUNT - 100]));
    },
    RECOVERY_TEST_MS,
  );

  test(
    'a withdrawal is held once, by whoever repeats its Idempotency-Key',
    async () => {
      expect(stepsOf(withdrawal)).toEqual(
        expect.arrayContaining(['update wallets', 'bulkWrite', 'insert outbox', 'commitTransaction']),
      );
      const answers = await finish<Answer>(withdrawal, answered);
      expect(statuses(answers)).toEqual(new Set([201]));
      expect(await balances(withdrawal)).toEqual(new Set([BALANCE - AMOUNT]));
      for (const [index, { as }] of casesOf(withdrawal).entries()) {
        const { body } = await world.send('GET', '/payments?type=withdrawal', { as });
        expect(body.data).toEqual([answers[index]?.body.payment]);
      }
      await toldOnce(
        'wallet.payment.booked',
        answers.map(({ body }) => body.payment.id),
      );
    },
    RECOVERY_TEST_MS,
  );

  test(
    'a rejected withdrawal is released once',
    async () => {
      expect(stepsOf(rejection)).toContain('commitTransaction');
      // 409: the one who died had done it.
      await finish<Answer>(rejection, ({ status }) => [200, 409].includes(status));
      expect(await balances(rejection)).toEqual(new Set([BALANCE]));
      await toldOnce(
        'wallet.withdrawal.settled',
        casesOf(rejection).map(({ target }) => Number(target)),
      );
    },
    RECOVERY_TEST_MS,
  );

  test(
    'a deposit is credited once, by whoever hears of it next',
    async () => {
      expect(stepsOf(callback)).toContain('commitTransaction');
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
      await toldOnce(
        'wallet.payment.booked',
        answers.map(({ body }) => body.payment.id),
      );
    },
    RECOVERY_TEST_MS,
  );

  test(
    'a seal is finished by the next round: every entry is in one, and told once',
    async () => {
      expect(sealDeaths).toEqual([
        'find ledger_entries',
        'insert ledger_seals',
        'update ledger_entries',
        'commitTransaction',
      ]);
      const seal = (): Promise<boolean> =>
        world.wallet.sealLedger().then(
          () => true,
          () => false,
        );
      await stirring(() => eventually(seal, RECOVERY));
      const told = (): number[] => {
        const seals = world.tap.events.filter(({ type }) => type === 'wallet.ledger.sealed');
        const unique = new Map(
          seals.map(({ id, data }) => [id, data as { payments: { payment_id: number }[] }]),
        );
        return [...unique.values()].flatMap(({ payments }) => payments.map(({ payment_id: id }) => id));
      };
      await eventually(() => sealedIds.every((id) => told().includes(id)));
      expect(
        told()
          .filter((id) => sealedIds.includes(id))
          .sort((one, other) => one - other),
      ).toEqual(sealedIds);
    },
    RECOVERY_TEST_MS,
  );

  test('after all of this the audit finds nothing', async () => {
    const report = await world.audit();
    expect(report.difference).toBeUndefined();
    expect(report.unsealed).toBe(0);
  });
});
