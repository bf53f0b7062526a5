/**
 * Lets an operator close a row of the refund queue, because the money was returned or the purchase is granted after all. The
 * operator may repeat the request. Any other request for a closed row is refused. Every refusal is in the audit log.
 */
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { AppError, conflict, message, notFound, unavailable } from '@fitness/shared/kernel/error.ts';
import { alreadySettled, decisionMark } from '@fitness/shared/kernel/settled-once.ts';
import type { Dependencies } from '../dependencies.ts';
import { type Order, slotOf } from '../domain/grant.ts';
import type { Refund, RefundOutcome } from '../domain/refund.ts';
import { alertRefusedCredentials } from './alert-refused-credentials.ts';
import { grantStorePurchase } from './grant-store-purchase.ts';
import {
  noteUnlessErased,
  recordRefundResolution,
  recordRefusedResolution,
} from './record-refund-resolution.ts';

interface Resolution {
  outcome: RefundOutcome;
  note: string;
}

interface Work extends Resolution {
  refund: Refund;
  operatorId: number;
  mark: string;
}

type Resolved = Refund & { resolution: NonNullable<Refund['resolution']> };

/**
 * Throws 404 for an unknown row; 409 for a row that is closed with the other outcome, or a purchase that cannot be granted;
 * `unavailable` if the store gives no verdict.
 */
export const createResolveRefund =
  (dependencies: Dependencies) =>
  async (id: number, resolution: Resolution, caller: UserCaller): Promise<Resolved> => {
    const { store, digest } = dependencies;
    const { refunds } = store;
    const refund = await refunds.find(id);
    if (refund === undefined) throw notFound();
    const { outcome, note } = resolution;
    const decision = { operatorId: caller.userId, outcome, text: note, key: undefined };
    // A note is never empty, so there is a mark.
    const mark = decisionMark(digest, `refund ${id}`, decision) as string;
    const work = { outcome, note, refund, operatorId: caller.userId, mark };
    const refused = refund.resolution === null ? await settle(dependencies, work) : undefined;
    // Another operator, the user or the store may have been first.
    const closed = (await refunds.find(id)) ?? refund;
    // This request has judged its own note in its transaction.
    const isOwn = refund.resolution === null && closed.resolution?.mark === mark;
    const after = isOwn ? closed : await withoutErasedNote(dependencies, closed);
    if (after.resolution?.mark === mark) return { ...after, resolution: after.resolution };
    const refusal = refusalOf(after, refused);
    const entered = { operatorId: caller.userId, note, mark, refusal };
    await store.transaction((session) => recordRefusedResolution(dependencies, session, after, entered));
    throw refusal;
  };

/** Notes are erased in steps, and hidden until then. */
const withoutErasedNote = async (dependencies: Dependencies, refund: Refund): Promise<Refund> => {
  const { resolution, userId } = refund;
  if (resolution === null) return refund;
  const note = await noteUnlessErased(dependencies, null, userId, resolution.note);
  return { ...refund, resolution: { ...resolution, note } };
};

/** Returns the refusal of a purchase that cannot be granted. */
const settle = async (dependencies: Dependencies, work: Work): Promise<AppError | undefined> => {
  try {
    await (work.outcome === 'granted' ? grant : markRefunded)(dependencies, work);
    return undefined;
  } catch (error) {
    if (error instanceof AppError && error.kind === 'conflict') return error;
    throw error;
  }
};

/** A purchase that was granted in the meantime can still be in the queue. */
const refusalOf = ({ resolution }: Refund, refused = notGrantable()): AppError => {
  if (resolution === null) return refused;
  const { outcome, note, resolvedBy, resolvedAt, mark } = resolution;
  return alreadySettled({ outcome, operatorId: resolvedBy, at: resolvedAt, mark, text: { note } });
};

/** Does nothing if the row has left the queue in the meantime. */
const close = async (
  dependencies: Dependencies,
  { refund, outcome, note, operatorId, mark }: Work,
): Promise<void> => {
  const { store, clock } = dependencies;
  await store.transaction(async (session) => {
    const resolution = {
      outcome,
      note: await noteUnlessErased(dependencies, session, refund.userId, note),
      resolvedBy: operatorId,
      resolvedAt: clock.now(),
      mark,
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
  const { refund, note, operatorId, mark } = work;
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
    operator: { id: operatorId, note, mark },
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
