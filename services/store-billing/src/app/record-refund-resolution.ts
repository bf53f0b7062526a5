import type { AuditState } from '@fitness/shared/mongo/audit-log.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Refund, RefundResolution } from '../domain/refund.ts';

/** The audit entry of an operator who closes a row of the refund queue, in the transaction of the resolution. */
export const recordRefundResolution = (
  { store, audit }: Pick<Dependencies, 'store' | 'audit'>,
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
  return audit.record(session, {
    actorId: resolution.resolvedBy,
    action: 'refund.resolve',
    subject: { type: 'refund', id: refund.id },
    before: stateOf(null),
    after: stateOf(resolution),
    isPersonal: store.refunds.isPersonal,
  });
};
