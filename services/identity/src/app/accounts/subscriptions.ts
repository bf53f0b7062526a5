/** The copies of subscriptions, which accounts show when store-billing does not respond. */
import type { StoredSubscription, SubscriptionCopy } from '@fitness/contracts/subscription.ts';
import { parseTimestamp } from '@fitness/shared/kernel/clock.ts';
import type { Dependencies } from '../../dependencies.ts';

/** Keeps the version, so that a late event does not revive the subscription. */
const ended = (before: StoredSubscription, now: Date): SubscriptionCopy | null => {
  if (!before) return null;
  return before.expires_at <= now ? before : { ...before, expires_at: now };
};

/**
 * Asks store-billing for the subscriptions of these accounts. A copy that an event has changed in the meantime stays. Throws
 * `unavailable`.
 */
export const createRebuildSubscriptions =
  ({ store, subscriptions, clock }: Pick<Dependencies, 'store' | 'subscriptions' | 'clock'>) =>
  async (ids: readonly number[]): Promise<void> => {
    const accounts = await store.users.findMany(ids);
    const running = await subscriptions.find(ids);
    for (const { _id: id, subscription: before } of accounts) {
      const row = running.get(id);
      // Version 0: every event is newer.
      const version = before && before.id === row?.id ? before.version : 0;
      const current: SubscriptionCopy | undefined = row && {
        ...{ id: row.id, type: row.type, version },
        ...{ starts_at: parseTimestamp(row.starts_at), expires_at: parseTimestamp(row.expires_at) },
      };
      await store.users.replaceSubscription(id, before, current ?? ended(before, clock.now()));
    }
  };
