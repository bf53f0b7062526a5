/** Random operations on ten wallets, played against the service and recorded in the model. */
import { randomUUID } from 'node:crypto';
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import fc from 'fast-check';
import { createModel, type Effect, type Model } from './model.ts';
import { atTheBank, type Harness, OPERATOR } from './support.ts';

const WALLETS = 10;
/** Limit for the tries of an operation with an unknown outcome: 503, or no response. */
const MAX_TRIES = 20;
/** Longer than a client's circuit breaker stays open, so every retry reaches the service. */
const RETRY_MS = 1_500;
const PROVIDER_ERROR = 'payments.provider_error';
const RUNNING = 'A request with this idempotency key is still being processed.';
const COMMISSION_PERCENT = 10;

export type Command =
  | { kind: 'gift' | 'buy' | 'withdraw'; user: number; amount: number }
  | { kind: 'sell'; user: number; to: number; amount: number }
  | { kind: 'deposit'; user: number; amount: number; click: 'pay' | 'cancel' }
  | { kind: 'pay' | 'reject' | 'replay' | 'misuse' | 'refund' | 'repeat'; pick: number }
  | { kind: 'balance'; user: number };

const user = fc.nat(WALLETS - 1);
const amount = fc.integer({ min: 1, max: 5_000 });
const pick = fc.nat(1_000_000);

/** Credits and debits are balanced, so wallets are often nearly empty. */
export const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('gift' as const), user, amount }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('buy' as const), user, amount }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('sell' as const), user, to: user, amount }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('withdraw' as const), user, amount }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('deposit' as const),
      user,
      amount: fc.integer({ min: 1_000, max: 9_000 }),
      click: fc.constantFrom('pay' as const, 'cancel' as const),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constantFrom('pay', 'reject', 'replay', 'misuse', 'refund', 'repeat'),
      pick,
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('balance' as const), user }) },
);

type BookRequest = Parameters<Harness['book']>[0];
interface Booked {
  request: BookRequest;
  paymentIds: readonly number[];
  isRefunded: boolean;
}
interface Withdrawal {
  id: number;
  by: UserCaller;
  amount: number;
  key: string;
  settled: 'pay' | 'reject' | undefined;
  /** What was tried so far. */
  tried: Set<'pay' | 'reject'>;
  /** Set from the first rejection until one succeeds: each of them may be the one that releases the amount. */
  release: ReturnType<Model['begin']> | undefined;
}

export interface Player {
  play(next: Command): Promise<void>;
  model: Model;
  people: readonly UserCaller[];
  /** The number of withdrawals of a user that are neither paid nor rejected. */
  openWithdrawals(userId: number): number;
  /** Number of retries after an unknown outcome. */
  unknown(): number;
}

const assert = (holds: boolean, what: string): void => {
  if (!holds) throw new Error(what);
};

/** The effect on these users: who pays for a gift always has enough. */
const effectOf = (request: BookRequest, userIds: ReadonlySet<number>): Effect => {
  const effect = new Map<number, number>();
  for (const { user_id: id, type, amount: value } of request.bookings ?? []) {
    if (!userIds.has(Number(id))) continue;
    const signed = type === 'income' ? Number(value) : -Number(value);
    effect.set(Number(id), (effect.get(Number(id)) ?? 0) + signed);
  }
  return effect;
};

export const createPlayer = (harness: Harness): Player => {
  const people = Array.from({ length: WALLETS }, () => harness.person());
  const userIds = new Set(people.map(({ userId }) => userId));
  const model = createModel([...userIds]);
  const booked: Booked[] = [];
  const withdrawals: Withdrawal[] = [];
  const idOf = (index: number): number => people[index]?.userId ?? 0;
  const chosen = <T>(rows: readonly T[], at: number): T | undefined => rows[at % Math.max(1, rows.length)];

  let unknown = 0;

  /** Retries with the same key until the outcome is known. */
  const certainly = async <T>(
    ask: () => Promise<T>,
    isUnknown: (answer: T) => boolean,
  ): Promise<[T, boolean]> => {
    for (let tries = 1; ; tries += 1) {
      const answer = await ask();
      if (!isUnknown(answer)) return [answer, tries > 1];
      unknown += 1;
      assert(tries < MAX_TRIES, `nothing but ${JSON.stringify(answer)}`);
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  };

  const http = (...request: Parameters<Harness['send']>) =>
    certainly(
      () => harness.send(...request),
      ({ status, body }) =>
        status === 503 ||
        (status === 409 && body.message === RUNNING) ||
        // The bank gateway did not respond in time.
        (status === 500 && body.code === PROVIDER_ERROR),
    );

  /** Resolves with the payments or with the error code. */
  const send = async (
    request: BookRequest,
  ): Promise<{ ids: number[]; replayed: boolean; retried: boolean } | string> => {
    const ask = () =>
      harness.grpc.call('Book', request).then(
        ({ payment_ids: ids, replayed }) => ({ ids, replayed }),
        (error: { code: string }) => error.code,
      );
    const [answer, again] = await certainly(ask, (result) => result === 'unavailable');
    return typeof answer === 'string' ? answer : { ...answer, retried: again };
  };

  const book = async (name: string, request: BookRequest): Promise<void> => {
    const operation = model.begin(name, effectOf(request, userIds));
    const answer = await send(request);
    operation.end(typeof answer === 'string' ? 'refused' : 'accepted');
    if (typeof answer === 'string') assert(answer === 'payments.insufficient_balance', `${name}: ${answer}`);
    else {
      assert(!answer.replayed || answer.retried, `${name} was answered as a repeat`);
      booked.push({ request, paymentIds: answer.ids, isRefunded: false });
    }
  };

  const replay = async ({ request, paymentIds }: Booked): Promise<void> => {
    const answer = await send(request);
    const same = typeof answer !== 'string' && answer.replayed && String(answer.ids) === String(paymentIds);
    assert(same, `a repeat of ${request.idempotency_key} returned ${JSON.stringify(answer)}`);
  };

  const misuse = async ({ request }: Booked): Promise<void> => {
    const bookings = (request.bookings ?? []).map(({ user_id = 0, type = '', amount: value }) => ({
      user_id,
      type,
      amount: Number(value) + 1,
    }));
    const answer = await send({ ...request, bookings });
    // A refund of more than its purchase is refused before its key is looked up.
    const refusal = request.idempotency_key?.endsWith(':refund') ? 'forbidden' : 'validation_failed';
    assert(answer === refusal, `another input under a used key: ${JSON.stringify(answer)}`);
  };

  /** Refunds a purchase once. */
  const refund = async (one: Booked): Promise<void> => {
    const [purchase, ...others] = one.request.bookings ?? [];
    if (purchase?.type !== 'purchase' || others.length > 0 || one.isRefunded) return;
    one.isRefunded = true;
    await book('refund', {
      idempotency_key: `${one.request.idempotency_key}:refund`,
      bookings: [{ user_id: Number(purchase.user_id), type: 'income', amount: Number(purchase.amount) }],
    });
  };

  const withdraw = async (by: UserCaller, value: number): Promise<void> => {
    const key = randomUUID();
    const operation = model.begin(`withdrawal of ${value}`, new Map([[by.userId, -value]]));
    const [answer] = await http('POST', '/payments/withdrawals', {
      as: by,
      body: { amount: value },
      headers: { 'idempotency-key': key },
    });
    operation.end(answer.status === 201 ? 'accepted' : 'refused');
    assert([201, 422].includes(answer.status), `withdrawal: ${answer.status} ${answer.text}`);
    if (answer.status === 201)
      withdrawals.push({
        id: answer.body.payment.id,
        by,
        amount: value,
        key,
        settled: undefined,
        tried: new Set(),
        release: undefined,
      });
  };

  const repeat = async ({ id, by, amount: value, key }: Withdrawal): Promise<void> => {
    const [answer] = await http('POST', '/payments/withdrawals', {
      as: by,
      body: { amount: value },
      headers: { 'idempotency-key': key },
    });
    assert(answer.status === 201 && answer.body.payment.id === id, `repeated withdrawal: ${answer.text}`);
  };

  const settle = async (withdrawal: Withdrawal, verb: 'pay' | 'reject'): Promise<void> => {
    const { id, by, amount: value } = withdrawal;
    withdrawal.tried.add(verb);
    if (verb === 'reject') withdrawal.release ??= model.begin(verb, new Map([[by.userId, value]]));
    // One key, by which the API recognizes a repeat.
    const headers = { 'idempotency-key': verb };
    const [answer] = await http('POST', `/payments/${id}/${verb}`, { as: OPERATOR, headers });
    if (answer.status === 200) {
      assert([undefined, verb].includes(withdrawal.settled), `withdrawal ${id} was settled twice`);
      if (verb === 'reject' && withdrawal.settled === undefined) withdrawal.release?.end('accepted');
      withdrawal.settled = verb;
      return;
    }
    assert(answer.status === 409, `${verb}: ${answer.status} ${answer.text}`);
    const couldBeOther = withdrawal.tried.size > 1 && withdrawal.settled !== verb;
    assert(couldBeOther, `withdrawal ${id} was refused without having been settled otherwise`);
  };

  const deposit = async (by: UserCaller, value: number, click: 'pay' | 'cancel'): Promise<void> => {
    const [opened] = await http('POST', '/payments/deposit', { as: by, body: { amount: value } });
    // The user has ten open deposits.
    if (opened.status === 422) return;
    assert(opened.status === 201, `deposit: ${opened.status} ${opened.text}`);
    const { body } = opened;
    const callback = await atTheBank(harness, body.payment_url, click);
    const operation = model.begin(`deposit of ${value}`, new Map([[by.userId, value]]));
    const answers = (await Promise.all([http('GET', callback), http('GET', callback)])).map(
      ([answer]) => answer,
    );
    operation.end(click === 'pay' ? 'accepted' : 'without effect');
    for (const answer of answers) {
      assert(answer.status === 200, `callback: ${answer.status} ${answer.text}`);
      assert(answer.body.payment.is_done === (click === 'pay'), `callback after ${click}: ${answer.text}`);
    }
  };

  const readBalance = async (by: UserCaller): Promise<void> => {
    const reading = model.read(by.userId);
    const { body } = await harness.send('GET', '/payments/balance', { as: by });
    reading.end(body.balance);
  };

  const play = async (next: Command): Promise<void> => {
    const idempotency_key = randomUUID();
    switch (next.kind) {
      case 'gift': {
        const { user: to, amount: value } = next;
        const bookings = [
          { user_id: await harness.buyer(), type: 'purchase', amount: value },
          { user_id: idOf(to), type: 'income', amount: value },
        ];
        return book(`gift of ${value}`, { idempotency_key, bookings });
      }
      case 'buy': {
        const bookings = [{ user_id: idOf(next.user), type: 'purchase', amount: next.amount }];
        return book(`purchase of ${next.amount}`, { idempotency_key, bookings });
      }
      case 'sell': {
        const commission = Math.ceil((next.amount * COMMISSION_PERCENT) / 100);
        const bookings = [
          { user_id: idOf(next.user), type: 'purchase', amount: next.amount },
          { user_id: idOf(next.to), type: 'income', amount: next.amount },
          { user_id: idOf(next.to), type: 'commission', amount: commission },
        ];
        return book(`sale of ${next.amount}`, { idempotency_key, bookings });
      }
      case 'withdraw':
      case 'deposit':
      case 'balance': {
        const by = people[next.user];
        if (by === undefined) return;
        if (next.kind === 'withdraw') return withdraw(by, next.amount);
        return next.kind === 'deposit' ? deposit(by, next.amount, next.click) : readBalance(by);
      }
      case 'pay':
      case 'reject':
      case 'repeat': {
        const withdrawal = chosen(withdrawals, next.pick);
        if (withdrawal === undefined) return;
        return next.kind === 'repeat' ? repeat(withdrawal) : settle(withdrawal, next.kind);
      }
      case 'replay':
      case 'misuse':
      case 'refund': {
        const one = chosen(booked, next.pick);
        if (one === undefined) return;
        if (next.kind === 'replay') return replay(one);
        return next.kind === 'misuse' ? misuse(one) : refund(one);
      }
    }
  };

  return {
    play,
    model,
    people,
    unknown: () => unknown,
    openWithdrawals: (userId) =>
      withdrawals.filter(({ by, settled }) => by.userId === userId && settled === undefined).length,
  };
};
