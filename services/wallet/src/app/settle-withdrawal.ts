/** An operator pays or rejects a withdrawal: exactly one of the two, once (specification 3.3). */
import type { UserCaller } from '@fitness/shared/caller.ts';
import { conflict, message, notFound } from '@fitness/shared/error.ts';
import { payoutRows, releaseRows } from '../domain/booking.ts';
import { createEntry } from '../domain/ledger.ts';
import type { Payment } from '../domain/payment.ts';
import { announceSettled } from './announce.ts';
import type { WalletDeps } from './deps.ts';
import { type PaymentResource, toResource } from './payment-resource.ts';

export type Outcome = 'paid' | 'rejected';

/** Throws 404 for anything that is not a withdrawal, 409 for one that is settled already. */
export type SettleWithdrawal = (id: number, outcome: Outcome, caller: UserCaller) => Promise<PaymentResource>;

export const createSettleWithdrawal =
  (deps: Pick<WalletDeps, 'store' | 'outbox' | 'clock' | 'users'>): SettleWithdrawal =>
  async (id, outcome, caller) => {
    const { store, clock, users } = deps;
    const withdrawal = await store.payments.find(id);
    if (withdrawal?.type !== 'withdrawal') throw notFound();
    // Asked before anything changes: an answer that cannot be given must not be for something that was done.
    const known = await users.show([withdrawal.userId], caller, { withErased: true });
    const entry = settlement(withdrawal, outcome);
    const settled = await store.transaction(async (session) => {
      const change = outcome === 'paid' ? { paid: true as const } : { paid: false as const, at: clock.now() };
      const after = await store.payments.settleWithdrawal(session, id, change);
      if (after === undefined)
        throw conflict('payments.already_settled', message('payments.already_settled'));
      await store.post(session, entry);
      await announceSettled(deps, session, after);
      return after;
    });
    const balance = (await store.wallets.balances([settled.userId])).get(settled.userId);
    return toResource(settled, caller, known.get(settled.userId), balance);
  };

const settlement = ({ id, userId, amount }: Payment, outcome: Outcome) =>
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
