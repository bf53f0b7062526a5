/** The blockers of store-billing for the deletion of an account (specification 4.1, rule 5). */
import type { BlockersOf } from '@fitness/contracts/blockers.ts';
import { formatTimestamp } from '@fitness/shared/kernel/clock.ts';
import type { Dependencies } from '../dependencies.ts';

export const createBlockers = ({ store, clock }: Dependencies): BlockersOf<'store-billing'> => ({
  active_premium: async (userId) => {
    const running = await store.grants.runningSubscriptions([userId], clock.now());
    if (running.length === 0) return undefined;
    const last = Math.max(...running.map(({ expiresAt }) => expiresAt.getTime()));
    return { expires_at: formatTimestamp(new Date(last)) };
  },
});
