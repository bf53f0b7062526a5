/** The bank gateway is asked, server to server, and what it says decides: nothing from a browser is believed. */
import { depositRows } from '../domain/booking.ts';
import { decideDeposit, verified } from '../domain/deposit.ts';
import { createEntry, isAlreadyBooked } from '../domain/ledger.ts';
import type { DepositMeta, GatewayReceipt, Payment } from '../domain/payment.ts';
import { announceBooked } from './announce.ts';
import type { WalletDeps } from './deps.ts';
import { providerError } from './provider-error.ts';

/**
 * The deposit as it stands afterwards: credited, closed, or still open. However often and from wherever it is called,
 * one deposit is credited at most once. Throws `payments.provider_error` when the gateway gives no usable answer.
 */
export type SettleDeposit = (payment: Payment) => Promise<Payment>;

export const createSettleDeposit =
  (deps: Pick<WalletDeps, 'store' | 'outbox' | 'clock' | 'log' | 'gateway'>): SettleDeposit =>
  async (payment) => {
    const { store, clock, log, gateway } = deps;
    if (payment.isDone || payment.gateway === null || payment.gateway.state === 'mismatch') return payment;
    const answer = await gateway.verify(payment.gateway.trackId).catch((cause: unknown) => {
      throw providerError(cause);
    });
    const decision = decideDeposit(payment, answer, clock.now());
    switch (decision.kind) {
      case 'wait':
        return payment;
      case 'credit':
        return credit(deps, payment, decision.receipt);
      case 'close':
        await store.payments.closeDeposit(payment.id, decision.state);
        return (await store.payments.find(payment.id)) ?? payment;
      case 'dispute':
        if (await dispute(deps, payment, decision.receipt))
          log.error({ payment_id: payment.id }, 'the gateway took a payment that is not the one asked for');
        return (await store.payments.find(payment.id)) ?? payment;
    }
  };

/** False when it was disputed or credited before. Of an erased payer the card is not written down. */
const dispute = (
  { store }: Pick<WalletDeps, 'store'>,
  payment: Payment,
  receipt: GatewayReceipt,
): Promise<boolean> =>
  store.transaction(async (session) => {
    const live = await store.wallets.pin(session, payment.userId);
    return store.payments.disputeDeposit(
      session,
      payment.id,
      live ? receipt : { ...receipt, cardNumber: null },
    );
  });

const credit = async (
  { store, outbox, clock }: Pick<WalletDeps, 'store' | 'outbox' | 'clock'>,
  payment: Payment,
  receipt: GatewayReceipt & { amountRial: number },
): Promise<Payment> => {
  const entry = createEntry({
    key: `deposit:${payment.id}`,
    kind: 'deposit',
    rows: depositRows(payment.userId, payment.meta as DepositMeta),
    paymentIds: [payment.id],
  });
  const now = clock.now();
  try {
    return await store.transaction(async (session) => {
      await store.post(session, entry);
      const erased = (await store.wallets.find(session, payment.userId))?.erased === true;
      const change = verified(payment, receipt, { now, erased });
      const done = await store.payments.markDepositDone(session, payment.id, change);
      if (done === undefined)
        throw new Error(`Deposit ${payment.id} is credited without an entry, or disputed`);
      await announceBooked({ outbox }, session, done);
      return done;
    });
  } catch (error) {
    if (!isAlreadyBooked(error)) throw error;
    return (await store.payments.find(payment.id)) ?? payment;
  }
};
