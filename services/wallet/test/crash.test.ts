/**
 * A process is killed while its instances of the wallet wait, each before another command that a booking, a deposit, a
 * withdrawal, its settlement or a seal sends its database. Whoever asks again, under the same key and somewhere else,
 * has it once: never half, never twice.
 */
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import type { WalletDefinition } from '@fitness/proto/gen/fitness/wallet/v1/Wallet.ts';
import type { UserCaller } from '@fitness/shared/caller.ts';
import { MINUTE_MS, systemClock } from '@fitness/shared/clock.ts';
import { createGrpcClient, type GrpcClient } from '@fitness/shared/grpc/client.ts';
import { grpcDefinitions } from '@fitness/shared/grpc/load.ts';
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
  testSigner,
} from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { atTheBank, OPERATOR, startWorld, type World } from './support.ts';

const PROGRAM = fileURLToPath(new URL('./crash-process.ts', import.meta.url));
/** Commands of the first round of an instance: four of them make sure that the newest seal is finished. */
const SEAL = { read: 5, append: 6, mark: 7, commit: 11 };
const BALANCE = 10_000;
const AMOUNT = 1_000;

let world: World;
let crashing: CrashTestProcess | undefined;

interface Door {
  send: Send;
  book: GrpcClient<WalletDefinition>;
}

/** One user and one request. */
interface Case {
  as: UserCaller;
  seller: UserCaller;
  key: string;
  /** A withdrawal, or a callback, that was prepared. */
  target: string;
  /** Undefined when its request was done. */
  killedBefore?: string | undefined;
}

interface Scene {
  /** What the request is about. */
  prepare?(each: Case): Promise<string>;
  request(door: Door, each: Case): Promise<unknown>;
}

const doorTo = ({ url, grpcAddress }: Instance): Door => ({
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

const newCase = async (scene: Scene): Promise<Case> => {
  const each = { as: world.person(), seller: world.person(), key: randomUUID(), target: '' };
  await world.give(each.as.userId, BALANCE);
  // The other side of a sale has had money before, as most sellers have.
  await world.give(each.seller.userId, 1);
  return scene.prepare === undefined ? each : { ...each, target: await scene.prepare(each) };
};

/** Lets instances come to their first command, to the second, … until one has done everything. */
const stopEverywhere = async (process: CrashTestProcess, scene: Scene): Promise<Case[]> => {
  const cases: Case[] = [];
  for (let nth = 1; ; nth += 1) {
    const each = await newCase(scene);
    const instance = await openInstance(process, nth);
    const door = doorTo(instance);
    const killedBefore = await instance.heldBefore(scene.request(door, each));
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

/** Where the sealing stopped, and the payments that it had to tell of. */
const sealStops: (string | undefined)[] = [];
const sealedIds: number[] = [];

/** Lets an instance come to the `nth` command of its sealing. */
const stopSealing = async (process: CrashTestProcess, nth: number): Promise<void> => {
  sealedIds.push(await world.give(world.person().userId, 3));
  const instance = await openInstance(process, nth);
  sealStops.push(await instance.heldBefore(instance.work('seal')));
};

const played = new Map<Scene, Case[]>();
const casesOf = (scene: Scene): Case[] => played.get(scene) ?? [];
const stepsOf = (scene: Scene): string[] => casesOf(scene).flatMap(({ killedBefore }) => killedBefore ?? []);

beforeAll(async () => {
  // Always ahead of the dead by more than the minute for which a claim of an Idempotency-Key is theirs.
  const clock = { now: () => new Date(systemClock.now().getTime() + 2 * MINUTE_MS) };
  world = await startWorld({ LEDGER_SEAL_SECONDS: 3_600 }, { clock });
  // The counters, and everything else that comes into being once.
  await withdrawal.request(livingDoor(), await newCase(withdrawal));
  await world.wallet.sealLedger();
  crashing = startCrashTestProcess(PROGRAM, { ...world.config });
  for (const nth of [SEAL.read, SEAL.append, SEAL.mark]) {
    await stopSealing(crashing, nth);
    // The next one begins with a finished seal.
    await world.wallet.sealLedger();
  }
  await stopSealing(crashing, SEAL.commit);
  for (const scene of [sale, withdrawal, rejection, callback])
    played.set(scene, await stopEverywhere(crashing, scene));
  await crashing.kill();
}, 180_000);

afterAll(async () => {
  await crashing?.kill();
  await world.close();
});

/** Asks a living process until it answers, as a client does, and gives the answers. */
const finish = async <Result>(scene: Scene, isDone: (result: Result) => boolean): Promise<Result[]> => {
  const asked = casesOf(scene).map((each) =>
    eventually(async () => {
      const result = (await scene.request(livingDoor(), each)) as Result;
      return isDone(result) ? result : undefined;
    }),
  );
  return Promise.all(asked);
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
  test('a sale is booked once, whole, by whoever repeats its key', async () => {
    expect(stepsOf(sale)).toEqual(['findAndModify sequences', 'bulkWrite', 'commitTransaction']);
    await finish<{ payment_ids: number[] }>(sale, ({ payment_ids: ids }) => ids.length === 3);
    expect(await balances(sale)).toEqual(new Set([BALANCE - AMOUNT]));
    expect(await balances(sale, 'seller')).toEqual(new Set([1 + AMOUNT - 100]));
  });

  test('a withdrawal is held once, by whoever repeats its Idempotency-Key', async () => {
    expect(stepsOf(withdrawal)).toEqual([
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
    ]);
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
  });

  test('a rejected withdrawal is released once', async () => {
    expect(stepsOf(rejection)).toEqual([
      'find payments',
      'findAndModify payments',
      'bulkWrite',
      'findAndModify sequences',
      'insert outbox',
      'commitTransaction',
      'find wallets',
    ]);
    // 409: the one who died had done it.
    await finish<Answer>(rejection, ({ status }) => [200, 409].includes(status));
    expect(await balances(rejection)).toEqual(new Set([BALANCE]));
    await toldOnce(
      'wallet.withdrawal.settled',
      casesOf(rejection).map(({ target }) => Number(target)),
    );
  });

  test('a deposit is credited once, by whoever hears of it next', async () => {
    expect(stepsOf(callback)).toEqual([
      'find payments',
      'bulkWrite',
      'find wallets',
      'findAndModify payments',
      'findAndModify sequences',
      'insert outbox',
      'commitTransaction',
    ]);
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
  });

  test('a seal is finished by the next round: every entry is in one, and told once', async () => {
    expect(sealStops).toEqual([
      'find ledger_entries',
      'insert ledger_seals',
      'update ledger_entries',
      'commitTransaction',
    ]);
    await world.wallet.sealLedger();
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
  });

  test('after all of this the audit finds nothing', async () => {
    const report = await world.audit();
    expect(report.difference).toBeUndefined();
    expect(report.unsealed).toBe(0);
  });
});
