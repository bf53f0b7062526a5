import type { BoostResource } from '@fitness/contracts/boost.ts';
import { parseTimestamp } from '@fitness/shared/kernel/clock.ts';
import type { Progress } from '@fitness/shared/kernel/progress.mjs';
import type { Dependencies } from '../dependencies.ts';
import { areSameVersions, type Boost, withLiveBoost } from '../domain/boost.ts';

const BATCH = 100;

const toCopy = ({ id, level, starts_at, ends_at }: BoostResource): Omit<Boost, 'version'> => ({
  ...{ id, level, startsAt: parseTimestamp(starts_at), endsAt: parseTimestamp(ends_at) },
});

/**
 * Reads the running boosts of all gyms from store-billing, including those granted before gyms received the events. The service
 * may run meanwhile. Returns the number of gyms. Throws `unavailable`.
 */
export const createRebuildBoosts =
  ({ store, boosts }: Dependencies) =>
  async (progress: Progress): Promise<number> => {
    const rebuild = async (ids: readonly number[]): Promise<void> => {
      const before = await store.gyms.boostsOf(ids);
      const live = await boosts.find('gym', ids);
      const changed: number[] = [];
      for (const [id, boostsBefore] of before) {
        const boost = live.get(id);
        const current = boost && toCopy(boost);
        const isReplaced = await store.transaction(async (session) => {
          const stored = (await store.gyms.boostsOf([id], session)).get(id);
          if (stored === undefined) return true;
          if (!areSameVersions(boostsBefore, stored)) return false;
          await store.gyms.setBoosts(session, id, withLiveBoost(stored, current));
          return true;
        });
        if (!isReplaced) changed.push(id);
      }
      // The response may be older than the events that were handled meanwhile.
      if (changed.length > 0) await rebuild(changed);
    };
    const ids = await store.gyms.allIds();
    progress.expect(ids.length, 'boosts of gyms');
    for (let start = 0; start < ids.length; start += BATCH) {
      const batch = ids.slice(start, start + BATCH);
      await rebuild(batch);
      progress.advance('boosts of gyms', batch.length);
    }
    return ids.length;
  };
