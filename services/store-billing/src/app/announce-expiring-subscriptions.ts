/** Publishes `subscription.expiring` for subscriptions that end within three days. */
import type { Dependencies } from '../dependencies.ts';
import { publishSubscriptionExpiring } from './publish.ts';

const BATCH_SIZE = 100;

export const createAnnounceExpiringSubscriptions =
  (dependencies: Pick<Dependencies, 'store' | 'clock' | 'outbox' | 'log'>) => async (): Promise<void> => {
    const { store, clock, log } = dependencies;
    for (const id of await store.grants.subscriptionsWithDueNotice(clock.now(), BATCH_SIZE))
      try {
        await store.transaction(async (session) => {
          const now = clock.now();
          const due = await store.grants.takeExpiryNotice(session, id, now);
          // After a long outage, it may have ended already.
          if (due === undefined || due.subscription.expiresAt <= now) return;
          await publishSubscriptionExpiring(dependencies, session, due.subscription, due.version);
        });
      } catch (error) {
        // The next round retries it; the other subscriptions continue.
        log.error({ err: error, subscription: id }, 'the end of a subscription could not be announced');
      }
  };
