/**
 * Re-verifies redemptions that ended without a verdict, by asking the store again for 72 hours. A confirmed purchase is
 * granted, or enqueued for a refund if it cannot be granted.
 */
import type { Dependencies } from '../dependencies.ts';
import type { Attempt } from '../domain/attempt.ts';
import { type Order, slotOf } from '../domain/grant.ts';
import { toJournal } from '../domain/journal.ts';
import type { Refund } from '../domain/refund.ts';
import { BACKGROUND_TRANSACTION_TIMEOUT_MS } from '../domain/transaction-timeout.ts';
import type { Purchased } from '../domain/verdict.ts';
import type { LedgerView } from '../store/ledger.ts';
import { alertRefusedCredentials } from './alert-refused-credentials.ts';
import { enqueueRefund } from './enqueue-refund.ts';
import { grantStorePurchase } from './grant-store-purchase.ts';

const BATCH_SIZE = 50;

export const createVerifyAttempts = (dependencies: Dependencies) => async (): Promise<void> => {
  const { store, channel, clock, log } = dependencies;
  for (const attempt of await store.attempts.due(channel.name, BATCH_SIZE)) {
    if (!(await store.attempts.claim(attempt))) continue;
    try {
      await verifyAgain(dependencies, attempt);
    } catch (error) {
      // A later round retries it; the other attempts continue.
      log.warn({ err: error, attempt: attempt.id }, 'an attempt could not be verified again');
      await store.attempts.postpone(attempt, 'failed', clock.now());
    }
  }
};

/** Only the holder of the attempt may call it. */
export const verifyAgain = async (dependencies: Dependencies, attempt: Attempt): Promise<void> => {
  const { store, channel, clock, catalogue } = dependencies;
  const offer = catalogue.bySku(attempt.productId);
  if (offer === undefined) throw new Error(`the product ${attempt.productId} is not sold any more`);
  const order = { userId: attempt.userId, offer, target: attempt.target };
  const ledger = await store.ledger.read(attempt, slotOf(order), clock.now());
  if (await finishIfRedeemed(dependencies, attempt, ledger)) return;
  const refund = await store.refunds.ofPurchase(attempt);
  if (refund?.resolution != null) return store.attempts.finish(attempt, 'closed', 'refunded', clock.now());
  const verdict = await channel.verify(attempt);
  switch (verdict.kind) {
    case 'purchased':
      return grantOrEnqueueRefund(dependencies, attempt, order, { ...ledger, refund, verdict });
    case 'not_purchased':
      return store.attempts.finish(attempt, 'closed', verdict.reason, clock.now());
    case 'credentials_refused':
      alertRefusedCredentials(dependencies, verdict.detail);
      return postponeOrGiveUp(dependencies, attempt, verdict.kind);
    default:
      return postponeOrGiveUp(dependencies, attempt, verdict.kind);
  }
};

/** Decided after the store was asked, so even an attempt that is long past 72 hours is verified once more. */
const postponeOrGiveUp = async (
  { store, clock, log }: Dependencies,
  attempt: Attempt,
  reason: string,
): Promise<void> => {
  const now = clock.now();
  if (now < attempt.giveUpAt) return store.attempts.postpone(attempt, reason, now);
  log.error({ attempt: attempt.id, user_id: attempt.userId }, 'no verdict on a purchase in time');
  return store.attempts.finish(attempt, 'given_up', 'no_verdict', now);
};

/** Whether the token has been redeemed in the meantime, by this attempt's user or another. */
const finishIfRedeemed = async (
  { store, clock }: Dependencies,
  attempt: Attempt,
  { redeemed }: LedgerView,
): Promise<boolean> => {
  if (redeemed === undefined) return false;
  const { userId, productId } = redeemed.purchase;
  // A killed process may have left it in the queue.
  await store.refunds.resolve(attempt, 'granted', clock.now());
  const isOwn = userId === attempt.userId && productId === attempt.productId;
  await store.attempts.finish(attempt, isOwn ? 'granted' : 'closed', isOwn ? null : 'redeemed', clock.now());
  return true;
};

const grantOrEnqueueRefund = async (
  dependencies: Dependencies,
  attempt: Attempt,
  order: Order,
  { slot, refund, verdict }: LedgerView & { refund: Refund | undefined; verdict: Purchased },
): Promise<void> => {
  const { store, targets, clock, purchaseJournal } = dependencies;
  const { target } = attempt;
  if (target !== null && (await targets.find(target)) === undefined) {
    // Journaled, so a restore of an older backup still knows that it was paid.
    await purchaseJournal.begin(attempt.userId, toJournal(attempt, clock.now()));
    return enqueueRefund(dependencies, attempt, order, { by: 'closed' });
  }
  const granted = await grantStorePurchase(dependencies, {
    attempt,
    verdict,
    order,
    grantId: await store.grants.nextId(order.offer.kind),
    isNewSlot: slot === 'missing',
    refund,
    operator: null,
    transactionTimeoutMs: BACKGROUND_TRANSACTION_TIMEOUT_MS,
  });
  if (granted.outcome === 'granted') return;
  if (granted.outcome === 'refunded')
    return store.attempts.finish(attempt, 'closed', 'refunded', clock.now());
  if (granted.outcome === 'refused') return enqueueRefund(dependencies, attempt, order, granted.refusal);
  await finishIfRedeemed(dependencies, attempt, await store.ledger.read(attempt, slotOf(order), clock.now()));
};
