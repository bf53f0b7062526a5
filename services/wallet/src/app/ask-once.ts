/**
 * Limits how often callbacks call the payment gateway, which limits the calls of each merchant. Anyone can open deposits and
 * repeat their callbacks. Concurrent callbacks of one deposit share a call, and an unpaid deposit is verified less often.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '@fitness/shared/kernel/clock.ts';
import { effectStarted } from '@fitness/shared/kernel/request-scope.ts';
import { isLeftToOperators, type Payment } from '../domain/payment.ts';
import type { SettleDeposit } from './settle-deposit.ts';

/** Number of `not paid` responses without a pause: payers often return too early, or reload the page. */
export const UNPAUSED_ANSWERS = 3;
/** After these responses, a callback waits until this much time has passed since the last one. */
export const PAUSE_MS = 2_000;
/** Limit for one payer's waiting callbacks. Further ones return the stored state; the sweep verifies the deposit later. */
export const WAITING_PER_USER = 20;
/** The count of responses restarts when a deposit has not been verified for this long. */
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

/** Returns the stored state to a payer with too many waiting callbacks, who could otherwise crowd out other requests. */
const limitWaiting = (settle: SettleDeposit): SettleDeposit => {
  /** Waiting callbacks per payer. */
  const waiting = new Map<number, number>();
  const countOf = (userId: number): number => waiting.get(userId) ?? 0;
  return async (payment) => {
    const { userId } = payment;
    if (countOf(userId) >= WAITING_PER_USER) return payment;
    waiting.set(userId, countOf(userId) + 1);
    try {
      return await settle(payment);
    } finally {
      if (countOf(userId) === 1) waiting.delete(userId);
      else waiting.set(userId, countOf(userId) - 1);
    }
  };
};

/** Wraps `settle` for callbacks. Each process keeps its own counts. */
export const askOnce = (settle: SettleDeposit, clock: Clock): SettleDeposit => {
  const underWay = new Map<number, Inquiry>();
  /** Keyed by payment id, the oldest response first. */
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
    const entry = unpaid.get(id);
    if (entry === undefined || entry.answers < UNPAUSED_ANSWERS) return 0;
    return Math.max(0, entry.lastAtMs + PAUSE_MS - nowMs);
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
   * The result of an inquiry, for a callback that joins it. Undefined when the inquiry failed, or when it was sent before this
   * callback and the payer may have paid since.
   */
  const joined = async ({ isSent: wasSent, settled }: Inquiry): Promise<Payment | undefined> => {
    const payment = await settled.catch(() => undefined);
    if (payment === undefined) return undefined;
    // The other request made the change, but this one must not report that nothing has changed either.
    if (isDecided(payment)) effectStarted();
    else if (wasSent) return undefined;
    return payment;
  };

  const settleOnce: SettleDeposit = async (payment) => {
    const inquiry = underWay.get(payment.id);
    if (inquiry === undefined) return start(payment);
    return (await joined(inquiry)) ?? settleOnce(payment);
  };

  return limitWaiting(settleOnce);
};
