import type { AuditState } from '@fitness/shared/audit/log.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Refund, RefundResolution } from '../domain/refund.ts';
import { premiumSlot } from '../domain/target.ts';
import { publishRefundResolved } from './publish.ts';

/** The operator’s note about a user; null if the user’s account is erased. */
export const noteUnlessErased = async (
  { store }: Pick<Dependencies, 'store'>,
  session: ClientSession,
  userId: number,
  note: string,
): Promise<string | null> => ((await store.slots.isClosed(session, premiumSlot(userId))) ? null : note);

/**
 * Writes the audit entry and the event that notifies the user, in the transaction in which an operator closes a row of the
 * refund queue.
 */
export const recordRefundResolution = async (
  { store, outbox, audit }: Pick<Dependencies, 'store' | 'outbox' | 'audit'>,
  session: ClientSession,
  refund: Refund,
  resolution: RefundResolution,
): Promise<void> => {
  const stateOf = (now: RefundResolution | null): AuditState => ({
    personId: refund.userId,
    values: {
      user_id: refund.userId,
      product_id: refund.productId,
      resolution: now?.outcome ?? null,
      note: now?.note ?? null,
    },
  });
  await publishRefundResolved({ outbox }, session, refund, resolution.outcome);
  await audit.record(session, {
    actorId: resolution.resolvedBy,
    action: 'refund.resolve',
    subject: { type: 'refund', id: refund.id },
    before: stateOf(null),
    after: stateOf(resolution),
    isPersonal: store.refunds.isPersonal,
  });
};
