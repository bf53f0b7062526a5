/**
 * Verifies a deposit with the bank gateway, server to server, and applies the decision. The deposit of an erased payer is not verified,
 * so that the gateway returns the money by itself. If it was verified before, it is disputed.
 */
import type { Dependencies } from '../dependencies.ts';
import { depositRows } from '../domain/booking.ts';
import {
  CLOSED_INTERVAL_MS,
  type Closure,
  decideDeposit,
  type PaidReceipt,
  verifiedFields,
} from '../domain/deposit.ts';
import { createEntry, type LedgerEntry } from '../domain/ledger.ts';
import { depositMetaOf, type GatewayReceipt, isLeftToOperators, type Payment } from '../domain/payment.ts';
import { ERASED_CREDIT } from './hold-credits.ts';
import { providerError } from './provider-error.ts';
import { publishPaymentBooked } from './publish.ts';

/**
 * Returns the deposit afterwards: credited, closed, disputed or still open. Concurrent and repeated calls credit it
 * at most once. Throws `payments.provider_error` without a usable response from the gateway.
 *
 * `isRestore`: the look does not end now, and the sweep ends it later. The next steps of a restore read the newest entry of the journal.
 */
export type SettleDeposit = (payment: Payment, options?: { isRestore: boolean }) => Promise<Payment>;

const MISMATCH = 'the gateway took a payment that does not match its deposit';
const ERASED_AGAIN =
  'a restore has erased the payer of a paid deposit again; return the money only if it was neither spent nor withdrawn before';

type SettleDepositDependencies = Pick<
  Dependencies,
  'store' | 'outbox' | 'clock' | 'log' | 'gateway' | 'depositJournal'
>;

export const createSettleDeposit =
  (dependencies: SettleDepositDependencies): SettleDeposit =>
  async (payment, { isRestore } = { isRestore: false }) => {
    const { store, clock, gateway } = dependencies;
    const trackId = payment.gateway?.trackId ?? null;
    if (payment.isDone || trackId === null || isLeftToOperators(payment)) return payment;
    const { userId } = payment;
    const isErased = (await store.wallets.erased([userId])).has(userId);
    const asked = isErased ? gateway.inquire(trackId) : gateway.verify(trackId);
    const answer = await asked.catch((cause: unknown) => {
      throw providerError(cause);
    });
    const now = clock.now();
    const decision = decideDeposit(payment, answer, now);
    switch (decision.kind) {
      case 'wait':
        return payment;
      case 'credit':
        return (
          (await credit(dependencies, payment, decision.receipt)) ??
          dispute(dependencies, payment, decision.receipt)
        );
      case 'close':
        await close(dependencies, payment, isRestore ? laterLook(decision, now) : decision);
        return (await store.payments.find(payment.id)) ?? payment;
      case 'dispute':
        return dispute(dependencies, payment, decision.receipt);
    }
  };

const laterLook = ({ state, checkAt }: Closure, now: Date): Closure => ({
  state,
  checkAt: checkAt ?? new Date(now.getTime() + CLOSED_INTERVAL_MS),
});

/** Removes the journal entry before the look ends, so that a crash in between repeats both. */
const close = async (
  { store, depositJournal }: Pick<Dependencies, 'store' | 'depositJournal'>,
  { id, gateway }: Payment,
  { state, checkAt }: Closure,
): Promise<void> => {
  // Without a `checkAt` the look has ended before.
  const isEnd = checkAt === null && gateway !== null && gateway.checkAt !== null;
  if (isEnd && gateway.orderId !== null) await depositJournal.withdraw(gateway.orderId);
  await store.payments.closeDeposit(id, { state, checkAt });
};

/** Has no effect when the deposit is already disputed or credited. The card number of an erased payer is not stored. */
const dispute = async (
  { store, log }: Pick<Dependencies, 'store' | 'log'>,
  payment: Payment,
  receipt: GatewayReceipt,
): Promise<Payment> => {
  const { id, userId } = payment;
  const { isNew, reason } = await store.transaction(async (session) => {
    const live = await store.wallets.lockUnlessErased(session, userId);
    const wallet = live ? undefined : await store.wallets.find(session, userId);
    const reported = live ? receipt : { ...receipt, cardNumber: null };
    const reason = live ? MISMATCH : wallet?.isErasureRepeated === true ? ERASED_AGAIN : ERASED_CREDIT;
    return { isNew: await store.payments.disputeDeposit(session, id, reported), reason };
  });
  if (isNew) log.error({ payment_ids: [id] }, reason);
  return (await store.payments.find(id)) ?? payment;
};

/** The gateway's confirmation and an operator's credit use the same key, so a deposit is booked once. */
export const depositEntry = (payment: Payment): LedgerEntry =>
  createEntry({
    key: `deposit:${payment.id}`,
    kind: 'deposit',
    rows: depositRows(payment.userId, depositMetaOf(payment)),
    paymentIds: [payment.id],
  });

/**
 * Returns the stored deposit unchanged if another call has credited or disputed it meanwhile. Undefined if the payer is erased: nothing
 * is credited.
 */
const credit = (
  { store, outbox, clock }: Pick<Dependencies, 'store' | 'outbox' | 'clock'>,
  payment: Payment,
  receipt: PaidReceipt,
): Promise<Payment | undefined> =>
  store.transaction(async (session) => {
    if ((await store.wallets.find(session, payment.userId))?.erased === true) return undefined;
    const change = verifiedFields(payment, receipt, clock.now());
    const credited = await store.payments.markDepositDone(session, payment.id, change);
    if (credited === undefined) return (await store.payments.find(payment.id, session)) ?? payment;
    // This writes the wallet, so a concurrent erasure conflicts and the retry credits nothing.
    await store.post(session, depositEntry(payment));
    await publishPaymentBooked({ outbox }, session, credited);
    return credited;
  });
