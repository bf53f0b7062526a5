import type { Dependencies } from '../dependencies.ts';
import type { Attempt } from '../domain/attempt.ts';
import { type Order, slotOf } from '../domain/grant.ts';
import type { SlotRefusal } from '../store/slots.ts';

/** Enqueues a purchase that the store confirmed and the slot refused. Operators refund it. */
export const enqueueRefund = async (
  { store, clock, log }: Dependencies,
  attempt: Attempt,
  order: Order,
  refusal: Pick<SlotRefusal, 'by'>,
): Promise<void> => {
  const now = clock.now();
  const reason = refusal.by === 'closed' ? 'target_gone' : 'already_running';
  // Before the attempt is finished. A crash in between leaves the attempt open, so it is verified again.
  await store.refunds.enqueue(attempt, reason, now);
  // The same token may have been granted for another product or target in the meantime. The grant resolves the refund
  // after its commit, and this code reads the ledger after the insert, so one of the two sees the other.
  const { redeemed } = await store.ledger.read(attempt, slotOf(order), now);
  if (redeemed !== undefined) await store.refunds.resolve(attempt, 'granted', now);
  await store.attempts.finish(attempt, 'refund_due', reason, now);
  log.warn({ attempt: attempt.id, user_id: attempt.userId, reason }, 'a paid purchase must be refunded');
};
