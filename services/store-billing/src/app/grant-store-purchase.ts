/** Grants what the store has confirmed: the grant, its receipt, the journal and the events commit together. */
import { storePurchaseGranted } from '@fitness/proto/events/store-billing.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Attempt } from '../domain/attempt.ts';
import { type Grant, type Order, payableTypeOf, slotOf } from '../domain/grant.ts';
import { receiptNumber, type StorePurchase } from '../domain/purchase.ts';
import type { SlotRefusal } from '../store/slots.ts';
import { acknowledge } from './acknowledge.ts';
import type { BillingDeps } from './deps.ts';
import { placeGrant } from './place-grant.ts';

export type GrantOutcome =
  | { outcome: 'granted'; grant: Grant }
  /** Somebody has redeemed the token meanwhile. */
  | { outcome: 'already_redeemed' }
  | { outcome: 'refused'; refusal: SlotRefusal };

/** What the ledger's look said of the slot, and the reservation in it that does not count. */
interface SlotView {
  isNewSlot: boolean;
  heldBy: string | null;
}

/** Undoes the transaction in which the slot refused. */
class SlotRefused extends Error {
  override name = 'SlotRefused';
  readonly refusal: SlotRefusal;

  constructor(refusal: SlotRefusal) {
    super(`the slot is ${refusal.by}`);
    this.refusal = refusal;
  }
}

/** Undoes the transaction of a presentation that has its receipt already. */
class AttemptGranted extends Error {
  override name = 'AttemptGranted';
}

type Parts = Pick<BillingDeps, 'store' | 'outbox' | 'clock' | 'log' | 'channel' | 'background'>;

interface Draft extends SlotView {
  attempt: Attempt;
  order: Order;
  grantId: number;
  /** For how long the transaction is tried. */
  patienceMs: number;
}

/**
 * `grantId`: taken beforehand, so that concurrent grants do not conflict on the counter. Throws what the database
 * throws; nothing is stored then.
 */
export const grantStorePurchase = async (deps: Parts, draft: Draft): Promise<GrantOutcome> => {
  const { store, background } = deps;
  try {
    const { purchase, grant } = await store.transaction((session) => commitGrant(deps, session, draft), {
      deadlineMs: draft.patienceMs,
    });
    background.run('acknowledge', () => acknowledge(deps, purchase));
    return { outcome: 'granted', grant };
  } catch (error) {
    if (error instanceof SlotRefused) return { outcome: 'refused', refusal: error.refusal };
    if (error instanceof AttemptGranted || store.isAlreadyRedeemed(error))
      return { outcome: 'already_redeemed' };
    if (store.isSlotAppeared(error)) return grantStorePurchase(deps, { ...draft, isNewSlot: false });
    return outcomeAfter(deps, draft, error);
  }
};

/**
 * The commit may have gone through although its answer was lost, or others were faster until patience ended: the ledger
 * knows the one, the slot the other.
 */
const outcomeAfter = async ({ store, clock }: Parts, draft: Draft, error: unknown): Promise<GrantOutcome> => {
  const { attempt, order, grantId } = draft;
  const { redeemed, slot } = await store.ledger.look(attempt, slotOf(order), clock.now()).catch(() => {
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

const commitGrant = async (
  deps: Parts,
  session: ClientSession,
  { attempt, order, grantId, isNewSlot, heldBy }: Draft,
): Promise<{ purchase: StorePurchase; grant: Grant }> => {
  const { store, outbox, clock } = deps;
  const now = clock.now();
  const given = { kind: order.offer.kind, id: grantId };
  const purchase: StorePurchase = {
    id: receiptNumber(given),
    channel: attempt.channel,
    purchaseToken: attempt.purchaseToken,
    productId: attempt.productId,
    userId: attempt.userId,
    grant: given,
    createdAt: now,
    acknowledgedAt: null,
    acknowledgeTries: 1,
    grantEndedAt: null,
  };
  // The journal first: the same presentation, sent again meanwhile, waits for this one instead of undoing it.
  if (!(await store.attempts.grant(session, attempt, now))) throw new AttemptGranted();
  // Of two presenters of one token the database lets one go on.
  await store.purchases.insert(session, purchase);
  const placed = await placeGrant(deps, session, {
    order,
    grantId,
    source: attempt.channel,
    heldBy,
    isNewSlot,
  });
  if ('refusal' in placed) throw new SlotRefused(placed.refusal);
  await outbox.emit(session, storePurchaseGranted, {
    subject: purchase.id,
    aggregateVersion: 1,
    data: {
      store_purchase_id: purchase.id,
      user_id: order.userId,
      channel: attempt.channel,
      product_id: attempt.productId,
      amount: order.offer.price,
      payable_type: payableTypeOf(order.offer.kind),
      payable_id: grantId,
    },
  });
  return { purchase, grant: placed.grant };
};
