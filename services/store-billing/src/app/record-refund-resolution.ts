import type { AuditState } from '@fitness/shared/audit/log.ts';
import type { AppError } from '@fitness/shared/kernel/error.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Refund, RefundResolution } from '../domain/refund.ts';
import { premiumSlot } from '../domain/target.ts';
import { publishRefundResolved } from './publish.ts';

/** The operator’s note about a user; null if the user’s account is erased. */
export const noteUnlessErased = async (
  { store }: Pick<Dependencies, 'store'>,
  session: ClientSession | null,
  userId: number,
  note: string | null,
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
  await publishRefundResolved({ outbox }, session, refund, resolution.outcome);
  await audit.record(session, {
    actorId: resolution.resolvedBy,
    action: 'refund.resolve',
    subject: { type: 'refund', id: refund.id },
    before: stateOf(refund, null),
    after: stateOf(refund, resolution),
    isPersonal: store.refunds.isPersonal,
  });
};

/** The operator of a refused resolution may already have returned the money. For an erased user only the mark of the note is left. */
export const recordRefusedResolution = async (
  { store, audit }: Pick<Dependencies, 'store' | 'audit'>,
  session: ClientSession,
  refund: Refund,
  refused: { operatorId: number; note: string; mark: string; refusal: AppError },
): Promise<void> => {
  const { personId, values } = stateOf(refund, refund.resolution);
  const { operatorId, note, mark, refusal } = refused;
  const entered = { 'refused.code': refusal.code, 'refused.note': note, 'refused.mark': mark };
  await audit.record(session, {
    actorId: operatorId,
    action: 'refund.resolve_refused',
    subject: { type: 'refund', id: refund.id },
    before: { personId, values: {} },
    after: { personId, values: { ...values, ...entered } },
    isPersonal: (path) => path === 'refused.note' || store.refunds.isPersonal(path),
  });
};

const stateOf = ({ userId, productId }: Refund, resolution: RefundResolution | null): AuditState => ({
  personId: userId,
  values: {
    user_id: userId,
    product_id: productId,
    resolution: resolution?.outcome ?? null,
    note: resolution?.note ?? null,
  },
});
