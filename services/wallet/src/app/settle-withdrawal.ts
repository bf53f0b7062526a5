/**
 * An operator pays or rejects a withdrawal, once (specification 3.3). The operator may repeat the request; anybody else is refused, and
 * the refusal of a payment is in the audit log, because the money may have been sent twice.
 */
import type { AuditState } from '@fitness/shared/audit/log.ts';
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import type { AppError } from '@fitness/shared/kernel/error.ts';
import { alreadySettled, decisionMark, isRepeatOf } from '@fitness/shared/kernel/settled-once.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../dependencies.ts';
import { payoutRows, releaseRows } from '../domain/booking.ts';
import { createEntry, type LedgerEntry } from '../domain/ledger.ts';
import { isOpenWithdrawal, type Payment, withdrawalMetaOf } from '../domain/payment.ts';
import type { WithdrawalMeta } from '../domain/payment-meta.ts';
import { claimRefusal, settledDecision, withdrawalFor } from './operators-withdrawal.ts';
import { type PaymentResource, shownOf, toPaymentResource } from './payment-resource.ts';
import { publishWithdrawalSettled } from './publish.ts';

interface Settlement {
  outcome: 'paid' | 'rejected';
  /** The bank's reference number of the transfer, or the reason of the rejection. */
  text: string | null;
  /** Whether the claim of another operator does not matter. */
  takeOver: boolean;
  /** `Idempotency-Key` */
  key: string | undefined;
}

interface Attempt extends Settlement {
  operatorId: number;
  mark: string | null;
}

/**
 * Throws 404 for a payment that is not a withdrawal, 403 for the caller's own, and 409 for one that is settled or that another operator
 * has claimed.
 */
export type SettleWithdrawal = (
  id: number,
  settlement: Settlement,
  caller: UserCaller,
) => Promise<PaymentResource>;

export const createSettleWithdrawal =
  (dependencies: Dependencies): SettleWithdrawal =>
  async (id, settlement, caller) => {
    const { store, clock, users, digest, log, payoutJournal } = dependencies;
    const withdrawal = await withdrawalFor(dependencies, id, caller);
    const { userId, amount, createdAt } = withdrawal;
    const decision = { ...settlement, operatorId: caller.userId };
    const attempt = { ...decision, mark: decisionMark(digest, `payment ${id}`, decision) };
    // Fetched before the settlement: if identity does not respond, nothing has changed.
    const usersById = await users.find([userId], caller, { withErased: true });
    // Written before the settlement: the operator has already paid at the bank, even if the transaction fails.
    // A claim of another operator does not matter here: it may end before the transaction.
    const payout = { payment_id: id, user_id: userId, amount, requested_at: createdAt };
    const entry =
      settlement.outcome === 'paid' && isOpenWithdrawal(withdrawal)
        ? await payoutJournal.begin(id, { ...payout, paid_at: clock.now() })
        : undefined;
    const { payment, refusal } = await store.transaction(async (session) => {
      const current = (await store.payments.find(id, session)) ?? withdrawal;
      const verdict = judge(shownOf(current, usersById.get(userId)), attempt, clock.now());
      if (verdict === 'settle') return { payment: await settle(dependencies, session, current, attempt) };
      if (verdict === 'repeat') return { payment: current };
      await recordRefusal(dependencies, session, { payment: current, attempt, refusal: verdict });
      return { payment: current, refusal: verdict };
    });
    if (refusal !== undefined) {
      // A restore lists the entries as paid.
      await entry
        ?.withdraw()
        .catch((error: unknown) => log.warn({ err: error }, 'an entry was not withdrawn'));
      throw refusal;
    }
    return toPaymentResource(payment, caller, usersById.get(userId), await store.wallets.balance(userId));
  };

const judge = (withdrawal: Payment, attempt: Attempt, now: Date): 'settle' | 'repeat' | AppError => {
  const made = settledDecision(withdrawal);
  if (made !== undefined) return isRepeatOf(made, attempt.mark) ? 'repeat' : alreadySettled(made);
  return claimRefusal(withdrawal, attempt, now) ?? 'settle';
};

const settle = async (
  { store, outbox, clock, audit }: Dependencies,
  session: ClientSession,
  withdrawal: Payment,
  attempt: Attempt,
): Promise<Payment> => {
  const { id, userId } = withdrawal;
  const { outcome, operatorId, mark } = attempt;
  const at = clock.now();
  const isErased = (await store.wallets.find(session, userId))?.erased === true;
  const after = await store.payments.settleWithdrawal(session, id, {
    rejectedAt: outcome === 'paid' ? null : at,
    meta: settledMeta(withdrawal, attempt, isErased),
    settlement: { by: operatorId, at, mark },
  });
  // The transaction has read it as open, so a concurrent change conflicts and never gets here.
  if (after === undefined) throw new Error(`Withdrawal ${id} was settled in the same transaction`);
  await store.post(session, settlementEntry(withdrawal, outcome));
  await publishWithdrawalSettled({ outbox }, session, after);
  await audit.record(session, {
    actorId: operatorId,
    action: outcome === 'paid' ? 'withdrawal.pay' : 'withdrawal.reject',
    subject: { type: 'payment', id },
    before: stateOf(withdrawal),
    after: stateOf(after),
    isPersonal: store.payments.isPersonal,
  });
  return after;
};

/** A refused rejection moves no money, so it is not recorded. For an erased payer only the mark of the reference is left. */
const recordRefusal = async (
  { store, audit }: Dependencies,
  session: ClientSession,
  { payment, attempt, refusal }: { payment: Payment; attempt: Attempt; refusal: AppError },
): Promise<void> => {
  const { outcome, text, mark, operatorId } = attempt;
  if (outcome !== 'paid' || text === null) return;
  const { personId, values } = stateOf(payment);
  const entered = { 'refused.code': refusal.code, 'refused.reference': text, 'refused.mark': mark };
  await audit.record(session, {
    actorId: operatorId,
    action: 'withdrawal.pay_refused',
    subject: { type: 'payment', id: payment.id },
    before: { personId, values: {} },
    after: { personId, values: { ...values, ...entered } },
    isPersonal: (path) => path === 'refused.reference' || store.payments.isPersonal(path),
  });
};

/** The audited values, named like the stored fields. */
const stateOf = (payment: Payment): AuditState & { personId: number } => ({
  personId: payment.userId,
  values: {
    user_id: payment.userId,
    amount: payment.amount,
    is_done: payment.isDone,
    rejected_at: payment.rejectedAt,
    'meta.reason': withdrawalMetaOf(payment)?.reason ?? null,
    'meta.reference': withdrawalMetaOf(payment)?.reference ?? null,
    'claim.by': payment.claim?.by ?? null,
    // Without it, a take-over looks like a claim that had ended.
    'claim.until': payment.claim?.until ?? null,
  },
});

/**
 * An erasure keeps the bank account of an open withdrawal, because the withdrawal is paid to it. The settlement then removes
 * the bank account, and stores no text about the user.
 */
const settledMeta = (
  withdrawal: Payment,
  { outcome, text }: Attempt,
  isErased: boolean,
): WithdrawalMeta | null => {
  const meta = withdrawalMetaOf(withdrawal);
  if (isErased) return meta === undefined ? null : { bank_account_number: null };
  if (text === null) return meta ?? null;
  return { ...meta, [outcome === 'paid' ? 'reference' : 'reason']: text };
};

const settlementEntry = ({ id, userId, amount }: Payment, outcome: Settlement['outcome']): LedgerEntry =>
  outcome === 'paid'
    ? createEntry({
        key: `withdrawal_paid:${id}`,
        kind: 'withdrawal_paid',
        rows: payoutRows(amount),
        paymentIds: [id],
      })
    : createEntry({
        key: `withdrawal_rejected:${id}`,
        kind: 'withdrawal_rejected',
        rows: releaseRows(userId, amount),
        paymentIds: [id],
      });
