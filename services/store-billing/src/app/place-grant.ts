/** Grants a subscription or a boost in the caller's transaction: slot, grant and event. */
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../dependencies.ts';
import { createGrant, endsAt, type Grant, type GrantSource, type Order, slotOf } from '../domain/grant.ts';
import type { Target } from '../domain/target.ts';
import type { SlotRefusal } from '../store/slots.ts';
import { publishGrant } from './publish.ts';

interface Placement {
  order: Order;
  grantId: number;
  source: GrantSource;
  /** The wallet purchase whose slot reservation is ignored: the one being granted, or one that is overridden. */
  ignoreReservationOf: string | null;
  /** Whether the slot has no document yet. */
  isNewSlot: boolean;
}

/** Audits a boost that an operator bought for another user’s target. The background or another request may grant it. */
const recordBoost = (
  { audit }: Pick<Dependencies, 'audit'>,
  session: ClientSession,
  grant: Grant,
  { type, id, byOperator }: Target,
): Promise<void> =>
  audit.record(session, {
    actorId: grant.userId,
    requestId: byOperator?.requestId ?? null,
    action: 'boost.buy',
    subject: { type: 'boost', id: grant.id },
    after: {
      personId: null,
      values: { boostable_type: type, boostable_id: id, ends_at: endsAt(grant), source: grant.source },
    },
  });

/** Writes nothing if the slot refuses. Throws what `slots.take` throws. */
export const placeGrant = async (
  dependencies: Pick<Dependencies, 'store' | 'outbox' | 'audit' | 'clock'>,
  session: ClientSession,
  { order, grantId, source, ignoreReservationOf, isNewSlot }: Placement,
): Promise<{ grant: Grant } | { refusal: SlotRefusal }> => {
  const { slots, grants } = dependencies.store;
  const now = dependencies.clock.now();
  const grant = createGrant(order, grantId, source, now);
  const outcome = await slots.take(session, slotOf(order), {
    id: grantId,
    endsAt: endsAt(grant),
    ignoreReservationOf,
    isNew: isNewSlot,
    now,
  });
  if (outcome !== 'taken') return { refusal: outcome };
  await grants.insert(session, grant);
  await publishGrant(dependencies, session, grant, 1);
  if (order.target?.byOperator !== undefined) await recordBoost(dependencies, session, grant, order.target);
  return { grant };
};
