/** Verifies a deposit with the bank gateway, server to server, and applies the decision. */
import type { Dependencies } from '../dependencies.ts';
import { depositRows } from '../domain/booking.ts';
import { decideDeposit, type PaidReceipt, verifiedFields } from '../domain/deposit.ts';
import { createEntry, type LedgerEntry } from '../domain/ledger.ts';
import { depositMetaOf, type GatewayReceipt, isLeftToOperators, type Payment } from '../domain/payment.ts';
import { providerError } from './provider-error.ts';
import { publishPaymentBooked } from './publish.ts';

/**
 * Returns the deposit afterwards: credited, closed, disputed or still open. Concurrent and repeated calls credit it
 * at most once. Throws `payments.provider_error` without a usable response from the gateway.
 */
export type SettleDeposit = (payment: Payment) => Promise<Payment>;

export const createSettleDeposit =
  (dependencies: Pick<Dependencies, 'store' | 'outbox' | 'clock' | 'log' | 'gateway'>): SettleDeposit =>
  async (payment) => {
    const { store, clock, log, gateway } = dependencies;
    if (payment.isDone || payment.gateway === null || isLeftToOperators(payment)) return payment;
    const answer = await gateway.verify(payment.gateway.trackId).catch((cause: unknown) => {
      throw providerError(cause);
    });
    const decision = decideDeposit(payment, answer, clock.now());
    switch (decision.kind) {
      case 'wait':
        return payment;
      case 'credit':
        return credit(dependencies, payment, decision.receipt);
      case 'close':
        await store.payments.closeDeposit(payment.id, decision.state);
        return (await store.payments.find(payment.id)) ?? payment;
      case 'dispute':
        if (await dispute(dependencies, payment, decision.receipt))
          log.error({ payment_id: payment.id }, 'the gateway took a payment that does not match its deposit');
        return (await store.payments.find(payment.id)) ?? payment;
    }
  };

/** Returns false when the deposit is already disputed or credited. The card number of an erased payer is not stored. */
const dispute = (
  { store }: Pick<Dependencies, 'store'>,
  payment: Payment,
  receipt: GatewayReceipt,
): Promise<boolean> =>
  store.transaction(async (session) => {
    const live = await store.wallets.lockUnlessErased(session, payment.userId);
    return store.payments.disputeDeposit(
      session,
      payment.id,
      live ? receipt : { ...receipt, cardNumber: null },
    );
  });

/** The gateway's confirmation and an operator's credit use the same key, so a deposit is booked once. */
export const depositEntry = (payment: Payment): LedgerEntry =>
  createEntry({
    key: `deposit:${payment.id}`,
    kind: 'deposit',
    rows: depositRows(payment.userId, depositMetaOf(payment)),
    paymentIds: [payment.id],
  });

/** Returns the stored deposit unchanged if another call has credited or disputed it meanwhile. */
const credit = (
  { store, outbox, clock }: Pick<Dependencies, 'store' | 'outbox' | 'clock'>,
  payment: Payment,
  receipt: PaidReceipt,
): Promise<Payment> =>
  store.transaction(async (session) => {
    const erased = (await store.wallets.find(session, payment.userId))?.erased === true;
    const change = verifiedFields(payment, receipt, { now: clock.now(), erased });
    const credited = await store.payments.markDepositDone(session, payment.id, change);
    if (credited === undefined) return (await store.payments.find(payment.id, session)) ?? payment;
    // This writes the wallet, so a concurrent erasure conflicts and the retry stores no personal data.
    await store.post(session, depositEntry(payment));
    await publishPaymentBooked({ outbox }, session, credited);
    return credited;
  });
