/**
 * Lets an operator close a row of the refund queue, because the money was returned or the purchase is granted after all. A
 * repeat changes nothing.
 */
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { type AppError, conflict, message, notFound, unavailable } from '@fitness/shared/kernel/error.ts';
import type { Dependencies } from '../dependencies.ts';
import { type Order, slotOf } from '../domain/grant.ts';
import type { Refund, RefundOutcome } from '../domain/refund.ts';
import { alertRefusedCredentials } from './alert-refused-credentials.ts';
import { grantStorePurchase } from './grant-store-purchase.ts';
import { noteUnlessErased, recordRefundResolution } from './record-refund-resolution.ts';

interface Resolution {
  outcome: RefundOutcome;
  note: string;
}

interface Work extends Resolution {
  refund: Refund;
  operatorId: number;
}

type Resolved = Refund & { resolution: NonNullable<Refund['resolution']> };

/**
 * Throws 404 for an unknown row; 409 for a row that is closed with the other outcome, or a purchase that cannot be granted;
 * `unavailable` if the store gives no verdict.
 */
export const createResolveRefund =
  (dependencies: Dependencies) =>
  async (id: number, resolution: Resolution, caller: UserCaller): Promise<Resolved> => {
    const { refunds } = dependencies.store;
    const refund = await refunds.find(id);
    if (refund === undefined) throw notFound();
    if (refund.resolution === null) {
      const work = { ...resolution, refund, operatorId: caller.userId };
      await (resolution.outcome === 'granted' ? grant(dependencies, work) : markRefunded(dependencies, work));
    }
    // Another operator, the user or the store may have been first.
    const after = (await refunds.find(id)) ?? refund;
    if (!isResolvedAs(after, resolution.outcome))
      throw conflict('payments.already_resolved', message('payments.already_resolved'));
    return after;
  };

const isResolvedAs = (refund: Refund, outcome: RefundOutcome): refund is Resolved =>
  refund.resolution?.outcome === outcome;

/** Does nothing if the row has left the queue in the meantime. */
const close = async (
  dependencies: Dependencies,
  { refund, outcome, note, operatorId }: Work,
): Promise<void> => {
  const { store, clock } = dependencies;
  await store.transaction(async (session) => {
    const resolution = {
      outcome,
      note: await noteUnlessErased(dependencies, session, refund.userId, note),
      resolvedBy: operatorId,
      resolvedAt: clock.now(),
    };
    const isClosed =
      outcome === 'granted'
        ? await store.refunds.markGranted(session, refund.id, resolution)
        : await store.refunds.markRefunded(session, refund, resolution);
    if (isClosed) await recordRefundResolution(dependencies, session, refund, resolution);
  });
};

const markRefunded = async (dependencies: Dependencies, work: Work): Promise<void> => {
  const { store, clock } = dependencies;
  const order = orderOf(dependencies, work.refund);
  // A killed process may have left a granted purchase in the queue. It stays there until it is closed as `granted`.
  const ledger = order && (await store.ledger.read(work.refund, slotOf(order), clock.now()));
  if (ledger?.redeemed === undefined) await close(dependencies, work);
};

/** Grants the purchase like a redemption by the user, which a running subscription or boost prevented earlier. */
const grant = async (dependencies: Dependencies, work: Work): Promise<void> => {
  const { refund, note, operatorId } = work;
  const { store, channel, targets, clock, requestTransactionTimeoutMs } = dependencies;
  const order = orderOf(dependencies, refund);
  const attempt = await store.attempts.find(refund.attemptId);
  if (order === undefined || attempt === undefined || refund.channel !== channel.name) throw notGrantable();
  if (refund.target !== null && (await targets.find(refund.target)) === undefined) throw notGrantable();
  const { redeemed, slot } = await store.ledger.read(refund, slotOf(order), clock.now());
  if (redeemed !== undefined) return close(dependencies, work);
  if (slot === 'active' || slot === 'closed') throw notGrantable();
  const verdict = await channel.verify(attempt);
  if (verdict.kind === 'not_purchased')
    throw conflict('store_purchase.verification_failed', message('store_purchase.verification_failed'));
  if (verdict.kind === 'credentials_refused') alertRefusedCredentials(dependencies, verdict.detail);
  if (verdict.kind !== 'purchased') throw unavailable(`the store gave no verdict: ${verdict.kind}`);
  const granted = await grantStorePurchase(dependencies, {
    attempt,
    verdict,
    order,
    grantId: await store.grants.nextId(order.offer.kind),
    isNewSlot: slot === 'missing',
    refund,
    operator: { id: operatorId, note },
    transactionTimeoutMs: requestTransactionTimeoutMs,
  });
  if (granted.outcome === 'refused') throw notGrantable();
  if (granted.outcome === 'already_redeemed') await close(dependencies, work);
};

/** Undefined for a product that is not sold any more. */
const orderOf = ({ catalogue }: Dependencies, { userId, productId, target }: Refund): Order | undefined => {
  const offer = catalogue.bySku(productId);
  return offer === undefined ? undefined : { userId, offer, target };
};

const notGrantable = (): AppError =>
  conflict('store_purchase.not_grantable', message('store_purchase.not_grantable'));
