/** What operators may do with a withdrawal: which ones, and while nobody else is about to. */
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { formatTimestamp } from '@fitness/shared/kernel/clock.ts';
import { AppError, forbidden, message, notFound } from '@fitness/shared/kernel/error.ts';
import type { MadeDecision } from '@fitness/shared/kernel/settled-once.ts';
import type { Dependencies } from '../dependencies.ts';
import { isOpenWithdrawal, type Payment, withdrawalMetaOf } from '../domain/payment.ts';

/** Throws 404 for a payment that is not a withdrawal, and 403 for the caller's own. */
export const withdrawalFor = async (
  { store }: Dependencies,
  id: number,
  caller: UserCaller,
): Promise<Payment> => {
  const withdrawal = await store.payments.find(id);
  if (withdrawal?.type !== 'withdrawal') throw notFound();
  if (withdrawal.userId === caller.userId)
    throw forbidden('an operator does not settle their own withdrawal');
  return withdrawal;
};

/** How a withdrawal was settled. Undefined while it is open. */
export const settledDecision = (withdrawal: Payment): MadeDecision | undefined => {
  if (isOpenWithdrawal(withdrawal)) return undefined;
  const { settlement, isDone, rejectedAt } = withdrawal;
  return {
    outcome: isDone ? 'paid' : 'rejected',
    operatorId: settlement?.by ?? null,
    at: settlement?.at ?? rejectedAt,
    mark: settlement?.mark,
    text: { reference: withdrawalMetaOf(withdrawal)?.reference ?? null },
  };
};

const CLAIMED = 'payments.claimed';

/** 409 while another operator is about to pay the withdrawal. */
export const claimRefusal = (
  { claim }: Payment,
  { operatorId, takeOver }: { operatorId: number; takeOver: boolean },
  now: Date,
): AppError | undefined => {
  if (claim === null || claim.by === operatorId || claim.until <= now || takeOver) return undefined;
  const words = message(CLAIMED);
  return new AppError({
    kind: 'conflict',
    code: CLAIMED,
    message: words,
    body: (t) => ({
      message: t(words),
      code: CLAIMED,
      claimed_by: claim.by,
      claimed_until: formatTimestamp(claim.until),
    }),
  });
};
