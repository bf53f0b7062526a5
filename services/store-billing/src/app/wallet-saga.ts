/**
 * The steps of a wallet purchase once its slot is reserved: charge, grant, or release and refund. The process that
 * holds the saga's lease runs them. After a crash, another process takes over the lease and continues.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { isAppError, unavailable } from '@fitness/shared/kernel/error.ts';
import { effectStarted, effectUndone, outsideRequest } from '@fitness/shared/kernel/request-scope.ts';
import { keepRenewing } from '@fitness/shared/kernel/timing.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Complete } from '@fitness/shared/mongo/idempotency.ts';
import type { Booking } from '../clients/wallet.ts';
import type { Dependencies } from '../dependencies.ts';
import { type Grant, payableTypeOf, slotOf } from '../domain/grant.ts';
import { BACKGROUND_TRANSACTION_TIMEOUT_MS } from '../domain/transaction-timeout.ts';
import {
  chargeKey,
  hasEnded,
  isBeingCharged,
  LONGEST_SAGA_MS,
  mayBeChargedLater,
  refundKey,
  SAGA_RENEWAL_MS,
  type WalletPurchase,
} from '../domain/wallet-purchase.ts';
import type { SlotRefusal } from '../store/slots.ts';
import { placeGrant } from './place-grant.ts';
import { refundedError, refusalError, storedRefusal } from './wallet-purchase-errors.ts';

/** Options of the transaction that stores the grant. */
export interface SagaOptions {
  complete: Complete<Grant>;
  transactionTimeoutMs: number;
}

/** Options for a saga that no client is waiting for. */
export const BACKGROUND_OPTIONS: SagaOptions = {
  complete: async () => undefined,
  transactionTimeoutMs: BACKGROUND_TRANSACTION_TIMEOUT_MS,
};

const POLL_MS = 50;

export const findGrant = async (
  { store }: Dependencies,
  { order, grantId, id }: WalletPurchase,
): Promise<Grant> => {
  const grant = await store.grants.find(order.offer.kind, grantId);
  if (grant === undefined) throw new Error(`the grant of the wallet purchase ${id} is missing`);
  return grant;
};

/** Runs the saga from its current state to its end. The caller holds the lease, which is renewed during the run. */
export const runSaga = async (
  dependencies: Dependencies,
  purchase: WalletPurchase,
  options: SagaOptions,
): Promise<Grant> => {
  const { store } = dependencies;
  const stopRenewing = keepRenewing(
    // Fails while the saga's own transaction holds the row.
    () => store.walletPurchases.renew(purchase),
    { intervalMs: SAGA_RENEWAL_MS, maxDurationMs: LONGEST_SAGA_MS },
  );
  try {
    return await runSteps(dependencies, purchase, options);
  } finally {
    stopRenewing();
  }
};

const runSteps = async (
  dependencies: Dependencies,
  purchase: WalletPurchase,
  options: SagaOptions,
): Promise<Grant> => {
  const { store, wallet, log, realTime } = dependencies;
  const { order, amount, grantId } = purchase;
  const booking = {
    userId: order.userId,
    amount,
    payableType: payableTypeOf(order.offer.kind),
    payableId: grantId,
  };
  if (purchase.state === 'refunding') {
    await refundCharge(dependencies, purchase, booking);
    throw refundedError(purchase);
  }
  // If this request fails now, a job finishes the saga later.
  effectStarted();
  const charged = await wallet.charge({ key: chargeKey(purchase.id), ...booking });
  if (charged.outcome === 'unknown') {
    log.warn(
      { err: charged.error, wallet_purchase: purchase.id },
      'it is unknown whether a wallet was charged',
    );
    await outsideRequest(() => store.walletPurchases.markUnattended(purchase));
    throw unavailable('the wallet did not respond', charged.error);
  }
  if (charged.outcome === 'refused') {
    if (mayBeChargedLater(purchase, realTime.now()))
      throw unavailable(`the wallet purchase ${purchase.id} is not settled yet`, charged.error);
    const undo = async (session: ClientSession): Promise<boolean> => {
      if (!(await store.walletPurchases.undo(session, purchase, charged.error.code))) return false;
      await store.slots.release(session, slotOf(order), purchase.id);
      return true;
    };
    if (!(await outsideRequest(() => store.transaction(undo))))
      throw unavailable(`the wallet purchase ${purchase.id} was taken over`);
    effectUndone();
    if (charged.error.code === 'payments.insufficient_balance') throw charged.error;
    throw unavailable(`the wallet refused: ${charged.error.code}`, charged.error);
  }
  const placed = await placeGrantOrStartRefund(dependencies, purchase.id, options);
  if ('grant' in placed) return placed.grant;
  await outsideRequest(() => refundCharge(dependencies, purchase, booking));
  throw refusalError(placed.refusal, order.offer);
};

type GrantOrRefusal = { grant: Grant } | { refusal: Pick<SlotRefusal, 'by'> };

/** Runs after the charge. Starts the refund if the slot refuses the grant. */
const placeGrantOrStartRefund = (
  dependencies: Dependencies,
  id: string,
  { complete, transactionTimeoutMs }: SagaOptions,
): Promise<GrantOrRefusal> => {
  const { store } = dependencies;
  const work = async (session: ClientSession): Promise<GrantOrRefusal> => {
    const current = await store.walletPurchases.find(id, session);
    if (current === undefined) throw new Error(`the wallet purchase ${id} is missing`);
    if (current.state === 'granted') return { grant: await findGrant(dependencies, current) };
    if (current.state === 'refunding' || current.state === 'refunded')
      return { refusal: storedRefusal(current) };
    const { order, grantId } = current;
    // The purchase is charged, so it is granted if possible. That holds even if the reservation was overridden, or if a
    // process whose lease had expired undid the purchase.
    const placement = { order, grantId, source: 'wallet', ignoreReservationOf: id, isNewSlot: false };
    const placed = await placeGrant(dependencies, session, placement);
    if ('refusal' in placed) {
      await store.walletPurchases.startRefund(session, current, placed.refusal.by);
      await store.slots.release(session, slotOf(order), id);
      return placed;
    }
    await store.walletPurchases.move(session, id, current.state, 'granted');
    await complete(session, placed.grant);
    return placed;
  };
  return store.transaction(work, { deadlineMs: transactionTimeoutMs });
};

const refundCharge = async (
  { store, wallet, log }: Dependencies,
  { id }: WalletPurchase,
  booking: Omit<Booking, 'key'>,
): Promise<void> => {
  const refunded = await wallet.refund({ key: refundKey(id), ...booking });
  if (refunded.outcome !== 'booked') {
    log.error(
      { err: refunded.error, wallet_purchase: id },
      'a charge could not be refunded; it will be retried',
    );
    return;
  }
  await store.transaction((session) => store.walletPurchases.move(session, id, 'refunding', 'refunded'));
};

/**
 * Waits while another request's saga charges the wallet, until `deadline` (a `performance.now()` time). Takes the saga over if
 * its lease has expired. Returns the purchase as last read.
 */
export const waitForSaga = async (
  dependencies: Dependencies,
  id: string,
  deadline: number,
  options: SagaOptions,
): Promise<WalletPurchase> => {
  const { store } = dependencies;
  for (;;) {
    const purchase = await store.walletPurchases.find(id);
    if (purchase === undefined) throw new Error(`the wallet purchase ${id} is missing`);
    if (hasEnded(purchase) || performance.now() >= deadline) return purchase;
    if (await continueIfLeaseExpired(dependencies, id, options)) continue;
    if (!isBeingCharged(purchase)) return purchase;
    await sleep(POLL_MS);
  }
};

/** False if another process holds the lease. */
export const continueIfLeaseExpired = async (
  dependencies: Dependencies,
  id: string,
  options: SagaOptions,
): Promise<boolean> => {
  const { store, random, log } = dependencies;
  const purchase = await store.walletPurchases.takeOver(id, random.uuid());
  if (purchase === undefined) return false;
  try {
    await runSaga(dependencies, purchase, options);
  } catch (error) {
    // A refusal, or `unavailable`. A saga that is still open is continued when its lease expires.
    if (!isAppError(error)) throw error;
    log.info(
      { wallet_purchase: id, outcome: error.code },
      'a wallet purchase was taken over and not granted',
    );
  }
  return true;
};
