import type { BoostResource } from '@fitness/contracts/boost.ts';
import { MODEL } from '@fitness/contracts/model-names.ts';
import { parseTimestamp } from '@fitness/shared/kernel/clock.ts';
import type { Progress } from '@fitness/shared/kernel/progress.mjs';
import type { Dependencies } from '../dependencies.ts';
import type { Boost } from '../domain/boost.ts';
import { COUNT_KEYS, flagsOf, type TotalKey, totalKey } from '../domain/post-lists.ts';
import { GONE_PROFILE, type ProfileRef, profileKey } from '../domain/profile.ts';
import { createFetchProfiles } from './fetch-profiles.ts';
import { createMediaCopyUseCases } from './save-media.ts';
import { createChangeState, createInSteps } from './update-profile.ts';

type RebuildDependencies = Pick<Dependencies, 'store' | 'gyms' | 'users' | 'boosts' | 'mediaCopies'>;

const BATCH = 100;

export interface RebuildResult {
  profiles: number;
  trainingServices: number;
}

/**
 * Rebuilds the read models from gyms, identity, store-billing and media, then the counters, facets and grams of all rows.
 * The service may keep running. Throws `unavailable`; what was rebuilt before the error is kept.
 */
export const createRebuild = (dependencies: RebuildDependencies) => {
  const { store } = dependencies;
  const rebuildProfiles = createRebuildProfiles(dependencies);
  const rebuildBoosts = createRebuildBoosts(dependencies);
  const { rebuildMedia } = createMediaCopyUseCases(dependencies);
  return async (progress: Progress): Promise<RebuildResult> => {
    const refs = new Map<string, ProfileRef>();
    for (const ref of await store.posts.profiles()) refs.set(profileKey(ref), ref);
    for await (const { ref } of store.profiles.all()) refs.set(profileKey(ref), ref);
    const [ids, postIds] = [await store.trainingServices.allIds(), await store.posts.allIds()];
    // Three passes over training services (words, boosts, files), two over posts (words, files).
    progress.expect(refs.size + 3 * ids.length + 2 * postIds.length, 'profiles');
    for (const batch of batches([...refs.values()])) {
      await rebuildProfiles(batch);
      progress.advance('profiles', batch.length);
    }
    await store.posts.reindex(progress);
    await store.trainingServices.reindex(progress);
    // After the facets, because a recount makes all processes read the rows again.
    await recount(store);
    for (const batch of batches(ids)) {
      await rebuildBoosts(batch);
      progress.advance('boosts', batch.length);
    }
    await rebuildMedia(MODEL.trainingService, ids, progress);
    await rebuildMedia(MODEL.post, postIds, progress);
    return { profiles: refs.size, trainingServices: ids.length };
  };
};

const batches = <Item>(items: readonly Item[]): Item[][] =>
  Array.from({ length: Math.ceil(items.length / BATCH) }, (_, index) =>
    items.slice(index * BATCH, (index + 1) * BATCH),
  );

const createRebuildProfiles = (dependencies: RebuildDependencies) => {
  const { store } = dependencies;
  const fetchProfiles = createFetchProfiles(dependencies);
  const changeState = createChangeState(dependencies);
  const rewritePosts = createRewritePosts(dependencies);
  const inSteps = createInSteps(dependencies);
  return async (refs: readonly ProfileRef[]): Promise<void> => {
    // Read first, because an event may store another version until the response arrives.
    const before = await store.profiles.find(refs);
    const fetched = await fetchProfiles(refs);
    for (const ref of refs) {
      const answer = fetched.get(profileKey(ref)) ?? { state: GONE_PROFILE, version: 0 };
      await store.profiles.insertIfMissing(ref, answer);
      const versionBefore = before.get(profileKey(ref))?.version;
      await inSteps(ref, (session, profile) => {
        const isNewer = profile.version !== versionBefore && profile.version > answer.version;
        const { state } = isNewer ? profile : answer;
        return changeState(session, profile, { state, version: Math.max(profile.version, answer.version) });
      });
      await rewritePosts(ref);
    }
  };
};

/** Gives all posts of a profile its state, and counts them. The profile stays visible, because few posts differ. */
const createRewritePosts = ({ store }: Pick<Dependencies, 'store'>) => {
  const inSteps = createInSteps({ store });
  return async (ref: ProfileRef): Promise<void> => {
    let through: number | undefined = 0;
    while (through !== undefined) {
      const after: number = through;
      through = await store.transaction(async (session) => {
        const profile = await store.profiles.findOne(session, ref);
        // A concurrent profile change conflicts with this transaction, so the posts get the state that it stores.
        await store.profiles.lockUnlessGone(session, ref);
        return profile && store.posts.updateVisibility(session, ref, profile.state, after);
      });
    }
    await inSteps(ref, async (session, { state, movedThrough }) => {
      const key = profileKey(ref);
      await store.counters.incrementPosts(
        session,
        {},
        {
          shardKey: ref.id,
          changed: [key],
          // A stale mark, which no profile has any more, would hide its posts forever.
          ...(movedThrough === undefined && { moving: [key, undefined] as const }),
        },
      );
      if (state.gone) return 'done';
      const { counts, newest } = await store.posts.recount(session, ref);
      await store.profiles.setCounts(session, ref, counts, newest);
      return 'done';
    });
  };
};

/**
 * Sets the totals from one snapshot. A concurrent write conflicts, and the transaction is retried. The database does the
 * counting: reading every profile into this process would exceed the lifetime of a transaction.
 */
const recount = (store: Dependencies['store']): Promise<void> =>
  store.transaction(async (session) => {
    const totals: Partial<Record<TotalKey, number>> = {};
    let newest = 0;
    for (const group of await store.profiles.sums(session)) {
      newest = Math.max(newest, group.newest);
      if (group.shown.gone) continue;
      for (const key of COUNT_KEYS) {
        const total = totalKey(flagsOf(key), group.kind, group.shown);
        totals[total] = (totals[total] ?? 0) + group.counts[key];
      }
    }
    await store.counters.setPosts(session, totals, newest);
    await store.counters.setServices(session, await store.trainingServices.recount(session));
  });

const toCopy = ({ id, boostable_id, level, starts_at, ends_at }: BoostResource): Boost => ({
  ...{ id, trainingServiceId: boostable_id, level },
  ...{ startsAt: parseTimestamp(starts_at), endsAt: parseTimestamp(ends_at) },
});

const createRebuildBoosts = ({ store, boosts }: RebuildDependencies) => {
  const rebuild = async (ids: readonly number[]): Promise<void> => {
    const before = await store.boosts.versions(ids);
    const live = await boosts.find('training_service', ids);
    const changed: number[] = [];
    for (const trainingServiceId of ids) {
      const resource = live.get(trainingServiceId);
      const boost = resource && toCopy(resource);
      const isReplaced = await store.transaction(async (session) => {
        const stored = await store.boosts.versions([trainingServiceId], session);
        if ([...stored].some(([id, version]) => before.get(id) !== version)) return false;
        await store.boosts.setLive(session, trainingServiceId, boost);
        // An event writes the training service too, so it conflicts with this transaction.
        await store.trainingServices.setBoost(session, trainingServiceId, boost);
        return true;
      });
      if (!isReplaced) changed.push(trainingServiceId);
    }
    // The response may be older than the events that were handled meanwhile.
    if (changed.length > 0) await rebuild(changed);
  };
  return rebuild;
};
