import type { BoostResource } from '@fitness/contracts/boost.ts';
import { parseTimestamp } from '@fitness/shared/kernel/clock.ts';
import type { Progress } from '@fitness/shared/kernel/progress.mjs';
import type { Dependencies } from '../dependencies.ts';
import type { Boost } from '../domain/boost.ts';

const BATCH = 100;

const toCopy = ({ id, level, starts_at, ends_at }: BoostResource): Boost => ({
  ...{ id, level, startsAt: parseTimestamp(starts_at), endsAt: parseTimestamp(ends_at) },
  // Every event is newer.
  version: 0,
});

/**
 * Reads the running boosts of all gyms from store-billing, including those granted before gyms received the events. The service
 * may run meanwhile. Returns the number of gyms. Throws `unavailable`.
 */
export const createRebuildBoosts =
  ({ store, boosts }: Dependencies) =>
  async (progress: Progress): Promise<number> => {
    const ids = await store.gyms.allIds();
    progress.expect(ids.length, 'boosts of gyms');
    for (let start = 0; start < ids.length; start += BATCH) {
      const batch = ids.slice(start, start + BATCH);
      const live = await boosts.find('gym', batch);
      for (const id of batch) {
        const boost = live.get(id);
        const current = boost === undefined ? [] : [toCopy(boost)];
        await store.transaction((session) => store.gyms.setBoosts(session, id, current));
      }
      progress.advance('boosts of gyms', batch.length);
    }
    return ids.length;
  };
