/**
 * A callback makes a call to the payment gateway, which limits the calls of a merchant, and anybody can open deposits and repeat
 * their callbacks. Concurrent callbacks of one deposit share a call, and one that is not paid is asked for more slowly.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '@fitness/shared/kernel/clock.ts';
import { effectStarted } from '@fitness/shared/kernel/request-scope.ts';
import { isLeftToOperators, type Payment } from '../domain/payment.ts';
import type { SettleDeposit } from './settle-deposit.ts';

/** So many answers `not paid` cause no pause: payers often return too early, or load the page again. */
export const UNPAUSED_ANSWERS = 3;
/** After them a callback waits until so much time has passed since the last answer. */
export const PAUSE_MS = 2_000;
/** Callbacks of one payer's deposits that wait at a time. Further ones are answered as it is known: the sweep asks again. */
export const WAITING_PER_USER = 20;
/** A deposit that was not asked for during this time counts from 0 again. */
const REMEMBERED_MS = 60_000;

interface Unpaid {
  answers: number;
  lastAtMs: number;
}

interface Inquiry {
  isSent: boolean;
  settled: Promise<Payment>;
}

const isDecided = (payment: Payment): boolean => payment.isDone || isLeftToOperators(payment);

/** `settle` for callbacks. Each process counts for itself. */
export const askOnce = (settle: SettleDeposit, clock: Clock): SettleDeposit => {
  const underWay = new Map<number, Inquiry>();
  /** By payment, the oldest answer first. */
  const unpaid = new Map<number, Unpaid>();

  const forgetOld = (nowMs: number): void => {
    for (const [id, { lastAtMs }] of unpaid) {
      if (nowMs - lastAtMs < REMEMBERED_MS) return;
      unpaid.delete(id);
    }
  };

  const pauseOf = ({ id }: Payment): number => {
    const nowMs = clock.now().getTime();
    forgetOld(nowMs);
    const known = unpaid.get(id);
    if (known === undefined || known.answers < UNPAUSED_ANSWERS) return 0;
    return Math.max(0, known.lastAtMs + PAUSE_MS - nowMs);
  };

  const ask = async (payment: Payment, inquiry: { isSent: boolean }): Promise<Payment> => {
    await sleep(pauseOf(payment));
    inquiry.isSent = true;
    const settled = await settle(payment);
    const answers = (unpaid.get(payment.id)?.answers ?? 0) + 1;
    unpaid.delete(payment.id);
    if (!isDecided(settled)) unpaid.set(payment.id, { answers, lastAtMs: clock.now().getTime() });
    return settled;
  };

  const start = (payment: Payment): Promise<Payment> => {
    const state = { isSent: false };
    const settled = ask(payment, state).finally(() => underWay.delete(payment.id));
    underWay.set(payment.id, Object.assign(state, { settled }));
    return settled;
  };

  /**
   * Undefined when the answer does not hold for a callback that joined: the inquiry failed with the request that had started it,
   * or was sent before this callback and the payer may have paid since.
   */
  const joined = async ({ isSent: wasSent, settled }: Inquiry): Promise<Payment | undefined> => {
    const payment = await settled.catch(() => undefined);
    if (payment === undefined) return undefined;
    // The change was made in the scope of the other request: this one must not answer that nothing was changed either.
    if (isDecided(payment)) effectStarted();
    else if (wasSent) return undefined;
    return payment;
  };

  const settleOnce: SettleDeposit = async (payment) => {
    const inquiry = underWay.get(payment.id);
    if (inquiry === undefined) return start(payment);
    return (await joined(inquiry)) ?? settleOnce(payment);
  };

  /** By payer: whoever repeats the callback of an own deposit must not take the places of other requests. */
  const waiting = new Map<number, number>();
  const countOf = (userId: number): number => waiting.get(userId) ?? 0;
  return async (payment) => {
    const { userId } = payment;
    if (countOf(userId) >= WAITING_PER_USER) return payment;
    waiting.set(userId, countOf(userId) + 1);
    try {
      return await settleOnce(payment);
    } finally {
      if (countOf(userId) === 1) waiting.delete(userId);
      else waiting.set(userId, countOf(userId) - 1);
    }
  };
};
