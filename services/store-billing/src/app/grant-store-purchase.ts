/** Grants a purchase that the store has confirmed: grant, receipt, journal and events commit together. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Attempt } from '../domain/attempt.ts';
import { type Grant, type Order, slotOf } from '../domain/grant.ts';
import { toJournal } from '../domain/journal.ts';
import { receiptNumber, type StorePurchase } from '../domain/purchase.ts';
import type { Refund } from '../domain/refund.ts';
import type { Purchased } from '../domain/verdict.ts';
import { isBeingCharged, SLOT_WAIT_MS } from '../domain/wallet-purchase.ts';
import type { SlotRefusal } from '../store/slots.ts';
import { acknowledge } from './acknowledge-purchases.ts';
import { placeGrant } from './place-grant.ts';
import { publishStorePurchaseGranted } from './publish.ts';
import { noteUnlessErased, recordRefundResolution } from './record-refund-resolution.ts';

type GrantDependencies = Pick<
  Dependencies,
  'store' | 'outbox' | 'audit' | 'clock' | 'log' | 'channel' | 'backgroundTasks' | 'purchaseJournal'
>;

export interface ConfirmedPurchase {
  attempt: Attempt;
  /** The verdict of the store. */
  verdict: Purchased;
  order: Order;
  /** Allocated before the transaction, so concurrent grants do not conflict on the counter. */
  grantId: number;
  /** Whether the slot has no document yet. */
  isNewSlot: boolean;
  /** Its row in the refund queue, which the grant removes from the queue. */
  refund: Refund | undefined;
  /** The operator who grants it; null when the user or a background job does. */
  operator: { id: number; note: string; mark: string } | null;
  transactionTimeoutMs: number;
}

interface GrantRequest extends ConfirmedPurchase {
  /** The wallet purchase whose reservation of the slot is ignored. */
  ignoreReservationOf: string | null;
}

export type GrantOutcome =
  | { outcome: 'granted'; grant: Grant }
  | { outcome: 'already_redeemed' }
  /** An operator has refunded it. */
  | { outcome: 'refunded' }
  | { outcome: 'refused'; refusal: SlotRefusal };

/** Thrown to abort the transaction. */
class SlotRefusedError extends Error {
  override name = 'SlotRefusedError';
  readonly refusal: SlotRefusal;

  constructor(refusal: SlotRefusal) {
    super(`the slot is ${refusal.by}`);
    this.refusal = refusal;
  }
}

/** Thrown to abort the transaction: the purchase has left the refund queue, and it has no receipt. */
class RefundedError extends Error {
  override name = 'RefundedError';
}

/** Thrown to abort the transaction: this presentation already has its receipt. */
class AttemptGrantedError extends Error {
  override name = 'AttemptGrantedError';
}

const POLL_MS = 50;

/**
 * Waits while a wallet purchase that holds the slot is being charged, which normally takes milliseconds. A wallet purchase
 * that no process runs, or that takes longer than {@link SLOT_WAIT_MS}, is overridden. Its charge is refunded to the
 * wallet, whereas the store refunds nothing by itself (ADR 0008).
 *
 * Throws errors of the database and the journal; nothing is stored in that case.
 */
export const grantStorePurchase = async (
  dependencies: GrantDependencies,
  confirmed: ConfirmedPurchase,
): Promise<GrantOutcome> => {
  const { purchaseJournal, clock, backgroundTasks } = dependencies;
  const { attempt } = confirmed;
  // Before the grant: a granted purchase is acknowledged to the store, and the app does not present it again.
  const entry = await purchaseJournal.begin(attempt.userId, toJournal(attempt, clock.now()));
  const deadline = performance.now() + SLOT_WAIT_MS;
  let ignoreReservationOf: string | null = null;
  for (;;) {
    const granted = await tryGrant(dependencies, { ...confirmed, ignoreReservationOf });
    if (granted.outcome === 'granted') backgroundTasks.run('journal', entry.markDone);
    if (granted.outcome !== 'refused' || granted.refusal.by !== 'reserved') return granted;
    ignoreReservationOf = granted.refusal.purchaseId;
    await waitWhileBeingCharged(dependencies, ignoreReservationOf, deadline);
  }
};

const waitWhileBeingCharged = async (
  { store }: GrantDependencies,
  purchaseId: string,
  deadline: number,
): Promise<void> => {
  while (performance.now() < deadline) {
    const purchase = await store.walletPurchases.find(purchaseId);
    if (purchase === undefined || !isBeingCharged(purchase)) return;
    await sleep(POLL_MS);
  }
};

/** Alerts operators to refund the rest at the store, because one purchase grants a product only once. */
const reportSurplus = (
  { log }: Pick<Dependencies, 'log'>,
  { verdict: { quantity = 1, unpaid }, attempt }: GrantRequest,
  { id }: StorePurchase,
): void => {
  if (quantity > 1 && unpaid === undefined)
    log.error(
      { alert: 'store_quantity', store_purchase_id: id, user_id: attempt.userId, quantity },
      'a store purchase was paid more than once and granted once',
    );
};

const tryGrant = async (dependencies: GrantDependencies, request: GrantRequest): Promise<GrantOutcome> => {
  const { store, backgroundTasks } = dependencies;
  try {
    const { purchase, grant } = await store.transaction(
      (session) => storeGrant(dependencies, session, request),
      { deadlineMs: request.transactionTimeoutMs },
    );
    reportSurplus(dependencies, request, purchase);
    backgroundTasks.run('acknowledge', () => acknowledge(dependencies, purchase));
    return { outcome: 'granted', grant };
  } catch (error) {
    if (error instanceof SlotRefusedError) return { outcome: 'refused', refusal: error.refusal };
    if (error instanceof RefundedError) return { outcome: 'refunded' };
    if (error instanceof AttemptGrantedError || store.isAlreadyRedeemedError(error))
      return { outcome: 'already_redeemed' };
    if (store.isSlotExistsError(error)) return tryGrant(dependencies, { ...request, isNewSlot: false });
    return outcomeAfterError(dependencies, request, error);
  }
};

/**
 * Reads the outcome after an error. The commit may have succeeded although its response was lost, or other transactions
 * may have taken the slot before the timeout.
 */
const outcomeAfterError = async (
  { store, clock }: GrantDependencies,
  { attempt, order, grantId }: GrantRequest,
  error: unknown,
): Promise<GrantOutcome> => {
  const { redeemed, slot } = await store.ledger.read(attempt, slotOf(order), clock.now()).catch(() => {
    throw error;
  });
  if (redeemed === undefined) {
    if (slot === 'active' || slot === 'closed') return { outcome: 'refused', refusal: { by: slot } };
    throw error;
  }
  const { grant } = redeemed;
  const isOurs = grant.kind === order.offer.kind && grant.id === grantId;
  return isOurs ? { outcome: 'granted', grant } : { outcome: 'already_redeemed' };
};

const storeGrant = async (
  dependencies: GrantDependencies,
  session: ClientSession,
  request: GrantRequest,
): Promise<{ purchase: StorePurchase; grant: Grant }> => {
  const { store, clock } = dependencies;
  const { attempt, verdict, order, grantId, isNewSlot, ignoreReservationOf } = request;
  const now = clock.now();
  const reference = { kind: order.offer.kind, id: grantId };
  const purchase: StorePurchase = {
    id: receiptNumber(reference),
    channel: attempt.channel,
    purchaseToken: attempt.purchaseToken,
    productId: attempt.productId,
    userId: attempt.userId,
    grant: reference,
    createdAt: now,
    acknowledgeTries: 1,
  };
  // The journal first, so a repeated presentation waits for this transaction instead of aborting it.
  if (!(await store.attempts.grant(session, attempt, now))) throw new AttemptGrantedError();
  // The token is unique, so only one of several users gets past this insert.
  await store.purchases.insert(session, purchase);
  await leaveRefundQueue(dependencies, session, request, now);
  const placed = await placeGrant(dependencies, session, {
    order,
    grantId,
    source: attempt.channel,
    ignoreReservationOf,
    isNewSlot,
  });
  if ('refusal' in placed) throw new SlotRefusedError(placed.refusal);
  await publishStorePurchaseGranted(dependencies, session, purchase, order, verdict);
  return { purchase, grant: placed.grant };
};

/** Both a grant and an operator's refund write the row, so only one of them succeeds. */
const leaveRefundQueue = async (
  dependencies: Pick<Dependencies, 'store' | 'outbox' | 'audit'>,
  session: ClientSession,
  { refund, operator }: GrantRequest,
  now: Date,
): Promise<void> => {
  if (refund === undefined) return;
  const note =
    operator === null ? null : await noteUnlessErased(dependencies, session, refund.userId, operator.note);
  const by = { resolvedBy: operator?.id ?? null, mark: operator?.mark };
  const resolution = { outcome: 'granted' as const, note, ...by, resolvedAt: now };
  if (!(await dependencies.store.refunds.markGranted(session, refund.id, resolution)))
    throw new RefundedError();
  if (operator !== null) await recordRefundResolution(dependencies, session, refund, resolution);
};
