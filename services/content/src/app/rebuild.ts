/** Puts right, from their owners, everything that this service only keeps a copy of. */
import type { KnownGym } from '../clients/gyms.ts';
import { type Cell, COUNT_KEYS, cellOf, flagsOf } from '../domain/post.ts';
import { type ProfileRef, profileKey, userProfile } from '../domain/profile.ts';
import { parseTimestamp } from '../domain/timestamp.ts';
import { GONE } from './keep-profiles.ts';
import type { Parts } from './parts.ts';

type RebuildParts = Pick<Parts, 'store' | 'gyms' | 'users' | 'decorations'>;

const BATCH = 100;

export interface RebuildResult {
  profiles: number;
  trainingServices: number;
}

/**
 * Asks gyms, identity and store-billing about everything that is kept, counts the posts anew, and writes anew by what
 * rows are found. The service may be running meanwhile. Throws `unavailable` when one of them does not answer; what was done until then stays.
 */
export const rebuild = async (parts: RebuildParts): Promise<RebuildResult> => {
  const refs = new Map<string, ProfileRef>();
  for (const ref of await parts.store.posts.profiles()) refs.set(profileKey(ref), ref);
  for await (const { ref } of parts.store.profiles.all()) refs.set(profileKey(ref), ref);
  for (const batch of batches([...refs.values()])) await rebuildProfiles(parts, batch);
  await recountAll(parts.store);
  await parts.store.posts.reindex();
  await parts.store.trainingServices.reindex();
  const services = await parts.store.trainingServices.allIds();
  for (const batch of batches(services)) await rebuildBoosts(parts, batch);
  return { profiles: refs.size, trainingServices: services.length };
};

const batches = <Item>(items: readonly Item[]): Item[][] =>
  Array.from({ length: Math.ceil(items.length / BATCH) }, (_, index) =>
    items.slice(index * BATCH, (index + 1) * BATCH),
  );

const rebuildProfiles = async ({ store, gyms, users }: RebuildParts, refs: readonly ProfileRef[]) => {
  const idsOf = (kind: ProfileRef['kind']): number[] =>
    refs.filter((ref) => ref.kind === kind).map(({ id }) => id);
  // What is heard while the owners are asked is newer than their answer.
  const before = await store.profiles.find(refs);
  const [foundGyms, hidden] = await Promise.all([gyms.find(idsOf('gym')), users.hidden(idsOf('user'))]);
  const askedOf = ({ kind, id }: ProfileRef): KnownGym => {
    if (kind === 'gym') return foundGyms.get(id) ?? { state: GONE, version: 0 };
    return { state: hidden.gone.has(id) ? GONE : userProfile(id).state, version: 0 };
  };
  for (const ref of refs) {
    const { state, version } = askedOf(ref);
    await store.profiles.ensure(ref, state, version);
    await store.transaction(async (session) => {
      const known = await store.profiles.load(session, ref);
      if (known === undefined) return;
      const asked = before.get(profileKey(ref))?.version ?? known.version;
      const current = known.version === asked ? state : known.state;
      await store.profiles.replace(session, ref, current, Math.max(known.version, version));
      await store.posts.reclassify(session, ref, current);
      if (current.gone) return;
      const { counts, newest } = await store.posts.recount(session, ref);
      await store.profiles.setCounts(session, ref, counts, newest);
    });
  }
};

/** One snapshot; what is written at the same moment moves a counter, and it starts again. */
const recountAll = (store: Parts['store']): Promise<void> =>
  store.transaction(async (session) => {
    const totals: Partial<Record<Cell, number>> = {};
    let newest = 0;
    for await (const profile of store.profiles.all(session)) {
      newest = Math.max(newest, profile.newest);
      if (profile.state.gone) continue;
      for (const key of COUNT_KEYS) {
        const cell = cellOf(flagsOf(key), profile.ref.kind, profile.state);
        totals[cell] = (totals[cell] ?? 0) + profile.counts[key];
      }
    }
    await store.counters.setPosts(session, totals, newest);
    await store.counters.setServices(session, await store.trainingServices.recount(session));
  });

const NEVER_BOOSTED = new Date(0);

const rebuildBoosts = async ({ store, decorations }: RebuildParts, ids: readonly number[]) => {
  const live = await decorations.boosts.known(ids);
  for (const id of ids) {
    const boost = live.get(id);
    await store.transaction(async (session) => {
      await store.boosts.removeOf(session, id);
      const endsAt = boost === undefined ? NEVER_BOOSTED : parseTimestamp(boost.ends_at);
      if (boost !== undefined)
        await store.boosts.keep(session, { id: boost.id, trainingServiceId: id, endsAt }, 0);
      await store.trainingServices.setBoostedUntil(session, id, endsAt);
    });
  }
};
