/** Grants what the store has confirmed: the grant, its receipt, the journal and the events commit together. */
import { storePurchaseGranted } from '@fitness/proto/events/store-billing.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Attempt } from '../domain/attempt.ts';
import { type Grant, type Order, payableTypeOf } from '../domain/grant.ts';
import type { StorePurchase } from '../domain/purchase.ts';
import type { SlotRefusal } from '../store/slots.ts';
import { acknowledge } from './acknowledge.ts';
import type { BillingDeps } from './deps.ts';
import { placeGrant } from './place-grant.ts';

export type GrantOutcome =
  | { outcome: 'granted'; purchase: StorePurchase; grant: Grant }
  /** Somebody has redeemed the token meanwhile. */
  | { outcome: 'already_redeemed' }
  | { outcome: 'refused'; refusal: SlotRefusal };

/** Undoes the transaction in which the slot refused. */
class SlotRefused extends Error {
  override name = 'SlotRefused';
  readonly refusal: SlotRefusal;

  constructor(refusal: SlotRefusal) {
    super(`the slot is ${refusal.by}`);
    this.refusal = refusal;
  }
}

type Parts = Pick<BillingDeps, 'store' | 'outbox' | 'clock' | 'log' | 'channel' | 'background'>;

/** Throws what the database throws; nothing is stored then. */
export const grantStorePurchase = async (
  deps: Parts,
  attempt: Attempt,
  order: Order,
): Promise<GrantOutcome> => {
  const { store } = deps;
  const [purchaseId, grantId] = await Promise.all([
    store.purchases.nextId(),
    store.grants.nextId(order.offer.kind),
  ]);
  try {
    const granted = await store.transaction((session) =>
      commitGrant(deps, session, { attempt, order, purchaseId, grantId }),
    );
    deps.background.run('acknowledge', () => acknowledge(deps, granted.purchase));
    return { outcome: 'granted', ...granted };
  } catch (error) {
    if (store.isAlreadyRedeemed(error)) return { outcome: 'already_redeemed' };
    if (error instanceof SlotRefused) return { outcome: 'refused', refusal: error.refusal };
    throw error;
  }
};

const commitGrant = async (
  deps: Parts,
  session: ClientSession,
  parts: { attempt: Attempt; order: Order; purchaseId: number; grantId: number },
): Promise<{ purchase: StorePurchase; grant: Grant }> => {
  const { attempt, order, purchaseId, grantId } = parts;
  const { store, outbox, clock } = deps;
  const now = clock.now();
  const purchase: StorePurchase = {
    id: purchaseId,
    channel: attempt.channel,
    purchaseToken: attempt.purchaseToken,
    productId: attempt.productId,
    userId: attempt.userId,
    grant: { kind: order.offer.kind, id: grantId },
    createdAt: now,
    acknowledgedAt: null,
    acknowledgeTries: 0,
    grantEndedAt: null,
  };
  // First: of two presenters of one token the database lets one go on.
  await store.purchases.insert(session, purchase);
  const placed = await placeGrant(deps, session, { order, grantId, source: attempt.channel, heldBy: null });
  if ('refusal' in placed) throw new SlotRefused(placed.refusal);
  await store.attempts.settle(attempt, 'granted', null, now, session);
  if (attempt.owed) await store.refunds.resolve(attempt.id, 'granted', now, session);
  await outbox.emit(session, storePurchaseGranted, {
    subject: purchaseId,
    aggregateVersion: 1,
    data: {
      store_purchase_id: purchaseId,
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
