/**
 * A callback makes a call to the payment gateway, which limits the calls of a merchant, and anybody can open deposits and repeat
 * their callbacks. Concurrent callbacks of one deposit share a call, and one that is not paid is not asked for again and again.
 */
import type { Clock } from '@fitness/shared/kernel/clock.ts';
import { isDisputed, type Payment } from '../domain/payment.ts';
import type { SettleDeposit } from './settle-deposit.ts';

/** Returning too early, and a page that is loaded again, are usual. */
export const FREE_ANSWERS = 3;
/** After them the gateway is asked again only this much later. */
export const PAUSE_MS = 2_000;
/** Then the answers are forgotten. */
const REMEMBERED_MS = 60_000;

interface Unpaid {
  answers: number;
  lastAtMs: number;
}

const isDecided = (payment: Payment): boolean => payment.isDone || isDisputed(payment);

/** `settle` for callbacks; within the pause it returns the payment as it is. Each process counts for itself. */
export const askOnce = (settle: SettleDeposit, clock: Clock): SettleDeposit => {
  const underWay = new Map<number, Promise<Payment>>();
  /** By payment, the oldest answer first. */
  const unpaid = new Map<number, Unpaid>();

  const forgetOld = (nowMs: number): void => {
    for (const [id, { lastAtMs }] of unpaid) {
      if (nowMs - lastAtMs < REMEMBERED_MS) return;
      unpaid.delete(id);
    }
  };

  const ask = async (payment: Payment): Promise<Payment> => {
    const settled = await settle(payment);
    const nowMs = clock.now().getTime();
    const answers = (unpaid.get(payment.id)?.answers ?? 0) + 1;
    unpaid.delete(payment.id);
    if (!isDecided(settled)) unpaid.set(payment.id, { answers, lastAtMs: nowMs });
    return settled;
  };

  return (payment) => {
    const asked = underWay.get(payment.id);
    if (asked !== undefined) return asked;
    const nowMs = clock.now().getTime();
    forgetOld(nowMs);
    const known = unpaid.get(payment.id);
    const isPaused =
      known !== undefined && known.answers >= FREE_ANSWERS && nowMs - known.lastAtMs < PAUSE_MS;
    if (isPaused) return Promise.resolve(payment);
    const answer = ask(payment).finally(() => underWay.delete(payment.id));
    underWay.set(payment.id, answer);
    return answer;
  };
};
