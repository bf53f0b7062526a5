/** An operator pays or rejects a withdrawal, once (specification 3.3). A repeat changes nothing. */
import type { AuditState } from '@fitness/shared/audit/log.ts';
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { conflict, message, notFound } from '@fitness/shared/kernel/error.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../dependencies.ts';
import { payoutRows, releaseRows } from '../domain/booking.ts';
import { createEntry, type LedgerEntry } from '../domain/ledger.ts';
import { isOpenWithdrawal, type Payment, withdrawalMetaOf } from '../domain/payment.ts';
import type { WithdrawalMeta } from '../domain/payment-meta.ts';
import { type PaymentResource, toPaymentResource } from './payment-resource.ts';
import { publishWithdrawalSettled } from './publish.ts';

type Settlement =
  /** `reference` is the bank's reference number of the transfer. */
  { outcome: 'paid'; reference: string | null } | { outcome: 'rejected'; reason: string | null };

/** Throws 404 for a payment that is not a withdrawal, and 409 for one that was settled with the other outcome. */
export type SettleWithdrawal = (
  id: number,
  settlement: Settlement,
  caller: UserCaller,
) => Promise<PaymentResource>;

export const createSettleWithdrawal =
  ({ store, outbox, clock, users, audit, payoutJournal }: Dependencies): SettleWithdrawal =>
  async (id, settlement, caller) => {
    const { outcome } = settlement;
    const withdrawal = await store.payments.find(id);
    if (withdrawal?.type !== 'withdrawal') throw notFound();
    const { userId } = withdrawal;
    const isSettled = !isOpenWithdrawal(withdrawal);
    if (isSettled) assertSettledAs(withdrawal, outcome);
    // Fetched before the settlement: if identity does not respond, nothing has changed.
    const usersById = await users.find([userId], caller, { withErased: true });
    // Written before the settlement: the operator has already paid at the bank, even if the transaction fails.
    if (outcome === 'paid' && !isSettled) {
      const { amount, createdAt } = withdrawal;
      await payoutJournal.begin(id, {
        payment_id: id,
        user_id: userId,
        amount,
        requested_at: createdAt,
        paid_at: clock.now(),
      });
    }
    const entry = settlementEntry(withdrawal, outcome);
    const settle = async (session: ClientSession): Promise<Payment> => {
      const isErased = (await store.wallets.find(session, userId))?.erased === true;
      const rejectedAt = outcome === 'paid' ? null : clock.now();
      const meta = settledMeta(withdrawal, settlement, isErased);
      const after = await store.payments.settleWithdrawal(session, id, { rejectedAt, meta });
      if (after === undefined) {
        const before = (await store.payments.find(id, session)) ?? withdrawal;
        assertSettledAs(before, outcome);
        return before;
      }
      await store.post(session, entry);
      await publishWithdrawalSettled({ outbox }, session, after);
      await audit.record(session, {
        actorId: caller.userId,
        action: outcome === 'paid' ? 'withdrawal.pay' : 'withdrawal.reject',
        subject: { type: 'payment', id },
        before: stateOf(withdrawal),
        after: stateOf(after),
        isPersonal: store.payments.isPersonal,
      });
      return after;
    };
    const settled = isSettled ? withdrawal : await store.transaction(settle);
    return toPaymentResource(settled, caller, usersById.get(userId), await store.wallets.balance(userId));
  };

/** The audited values, named like the stored fields. */
const stateOf = (payment: Payment): AuditState => ({
  personId: payment.userId,
  values: {
    user_id: payment.userId,
    amount: payment.amount,
    is_done: payment.isDone,
    rejected_at: payment.rejectedAt,
    'meta.reason': withdrawalMetaOf(payment)?.reason ?? null,
    'meta.reference': withdrawalMetaOf(payment)?.reference ?? null,
  },
});

const assertSettledAs = ({ isDone }: Payment, outcome: Settlement['outcome']): void => {
  if (isDone !== (outcome === 'paid'))
    throw conflict('payments.already_settled', message('payments.already_settled'));
};

/**
 * An erasure keeps the bank account of an open withdrawal, because the withdrawal is paid to it. The settlement then removes
 * the bank account, and stores no text about the user.
 */
const settledMeta = (
  withdrawal: Payment,
  settlement: Settlement,
  isErased: boolean,
): WithdrawalMeta | null => {
  const meta = withdrawalMetaOf(withdrawal);
  if (isErased) return meta === undefined ? null : { bank_account_number: null };
  if (settlement.outcome === 'paid') {
    const { reference } = settlement;
    return reference === null ? (meta ?? null) : { ...meta, reference };
  }
  const { reason } = settlement;
  return reason === null ? (meta ?? null) : { ...meta, reason };
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
