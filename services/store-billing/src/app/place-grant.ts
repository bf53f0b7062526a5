/** The one way to give a subscription or a boost: its slot, the grant and its event, in the caller's transaction. */
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import { createGrant, endsAt, type Grant, type GrantSource, type Order, slotOf } from '../domain/grant.ts';
import type { SlotRefusal } from '../store/slots.ts';
import { announceGrant } from './announce.ts';
import type { BillingDeps } from './deps.ts';

export interface Placement {
  order: Order;
  grantId: number;
  source: GrantSource;
  /** The wallet purchase whose reservation does not count: its own, or one that is passed over. */
  heldBy: string | null;
  /** Nobody has made the slot yet. */
  isNewSlot: boolean;
}

/** Nothing was written when the slot refuses. Throws what `slots.take` throws. */
export const placeGrant = async (
  deps: Pick<BillingDeps, 'store' | 'outbox' | 'clock'>,
  session: ClientSession,
  { order, grantId, source, heldBy, isNewSlot }: Placement,
): Promise<{ grant: Grant } | { refusal: SlotRefusal }> => {
  const { slots, grants } = deps.store;
  const now = deps.clock.now();
  const grant = createGrant(order, grantId, source, now);
  const taken = await slots.take(session, slotOf(order), {
    id: grantId,
    endsAt: endsAt(grant),
    heldBy,
    isNew: isNewSlot,
    now,
  });
  if (taken !== 'taken') return { refusal: taken };
  await grants.insert(session, grant);
  await announceGrant(deps, session, grant);
  return { grant };
};
