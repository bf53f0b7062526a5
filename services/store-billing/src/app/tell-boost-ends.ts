/** Tells that a boost has run out, once. */
import { announceBoostEnded } from './announce.ts';
import type { BillingDeps } from './deps.ts';

const AT_ONCE = 100;

export const createTellBoostEnds =
  (deps: Pick<BillingDeps, 'store' | 'clock' | 'outbox' | 'log'>): (() => Promise<void>) =>
  async () => {
    const { store, clock, log } = deps;
    for (const id of await store.grants.boostsToTell(clock.now(), AT_ONCE))
      try {
        await store.transaction(async (session) => {
          const taken = await store.grants.takeEnd(session, id);
          if (taken !== undefined) await announceBoostEnded(deps, session, taken.boost, taken.version);
        });
      } catch (error) {
        // Its turn comes again; the others are not held up.
        log.error({ err: error, boost: id }, 'the end of a boost could not be told');
      }
  };
