/** An operator pays or rejects a withdrawal: one of the two, once (specification 3.3). */
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { conflict, message, notFound } from '@fitness/shared/kernel/error.ts';
import type { Dependencies } from '../dependencies.ts';
import { payoutRows, releaseRows } from '../domain/booking.ts';
import { createEntry, type LedgerEntry } from '../domain/ledger.ts';
import { type Payment, withdrawalMetaOf } from '../domain/payment.ts';
import type { WithdrawalMeta } from '../domain/payment-meta.ts';
import { type PaymentResource, toPaymentResource } from './payment-resource.ts';
import { publishSettled } from './publish.ts';

export type Outcome = 'paid' | 'rejected';

/** Throws 404 for a payment that is not a withdrawal, 409 for a settled one. */
export type SettleWithdrawal = (id: number, outcome: Outcome, caller: UserCaller) => Promise<PaymentResource>;

export const createSettleWithdrawal =
  ({
    store,
    outbox,
    clock,
    users,
  }: Pick<Dependencies, 'store' | 'outbox' | 'clock' | 'users'>): SettleWithdrawal =>
  async (id, outcome, caller) => {
    const withdrawal = await store.payments.find(id);
    if (withdrawal?.type !== 'withdrawal') throw notFound();
    const { userId } = withdrawal;
    // Before the settlement: when identity does not answer, nothing has changed.
    const known = await users.find([userId], caller, { withErased: true });
    const entry = settlementEntry(withdrawal, outcome);
    const settled = await store.transaction(async (session) => {
      const live = await store.wallets.lockUnlessErased(session, userId);
      const rejectedAt = outcome === 'paid' ? null : clock.now();
      const meta = settledMeta(withdrawal, live);
      const after = await store.payments.settleWithdrawal(session, id, { rejectedAt, meta });
      if (after === undefined)
        throw conflict('payments.already_settled', message('payments.already_settled'));
      await store.post(session, entry);
      await publishSettled({ outbox }, session, after);
      return after;
    });
    return toPaymentResource(settled, caller, known.get(userId), await store.wallets.balance(userId));
  };

/** An erasure leaves the bank account of an open withdrawal, which it is paid to; the settlement removes it then. */
const settledMeta = (withdrawal: Payment, live: boolean): WithdrawalMeta | null => {
  const meta = withdrawalMetaOf(withdrawal);
  if (meta === undefined) return null;
  return live ? meta : { bank_account_number: null };
};

const settlementEntry = ({ id, userId, amount }: Payment, outcome: Outcome): LedgerEntry =>
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
