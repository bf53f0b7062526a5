/** Publishes `boost.ended` for boosts that have run out. */
import type { Dependencies } from '../dependencies.ts';
import { publishGrantEnded } from './publish.ts';

const BATCH_SIZE = 100;

export const createPublishBoostEnds =
  (dependencies: Pick<Dependencies, 'store' | 'clock' | 'outbox' | 'log'>) => async (): Promise<void> => {
    const { store, clock, log } = dependencies;
    for (const id of await store.grants.boostsWithUnpublishedEnd(clock.now(), BATCH_SIZE))
      try {
        await store.transaction(async (session) => {
          const ended = await store.grants.markEndPublished(session, id);
          if (ended !== undefined) await publishGrantEnded(dependencies, session, ended.boost, ended.version);
        });
      } catch (error) {
        // The next round retries it; the other boosts continue.
        log.error({ err: error, boost: id }, 'the end of a boost could not be published');
      }
  };
