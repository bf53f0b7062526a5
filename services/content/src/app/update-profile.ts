/** Updates the read model of gyms and accounts from their events. */
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Rest } from '@fitness/shared/mongo/steps.ts';
import type { Dependencies } from '../dependencies.ts';
import { COUNT_KEYS, totalDeltas } from '../domain/post-lists.ts';
import {
  isSameState,
  type ProfileRef,
  profileKey,
  profileOfKey,
  unlisted,
  type VersionedProfileState,
} from '../domain/profile.ts';
import type { Profile } from '../store/profiles.ts';

export interface ProfileUpdate extends VersionedProfileState {
  ref: ProfileRef;
}

/**
 * One step: stores the state of a profile, and applies it to as many of its posts as one transaction may change. If posts
 * are left, the profile is moving until the last step. Meanwhile, no public total counts its posts, no list shows them, and
 * its document records the progress. A transaction that writes a post gives it the new state and conflicts with any step.
 */
export const createChangeState =
  ({ store }: Pick<Dependencies, 'store'>) =>
  async (session: ClientSession, profile: Profile, change: VersionedProfileState): Promise<Rest> => {
    const { ref, counts, shown, movedThrough } = profile;
    const { state } = change;
    const isSame = isSameState(profile.state, state);
    if (isSame && movedThrough === undefined) {
      await store.profiles.setState(session, ref, change);
      return 'done';
    }
    const from = isSame ? movedThrough : undefined;
    const through = await store.posts.updateVisibility(session, ref, state, from ?? 0);
    // Written last, so a conflict fails this step rather than a request that writes a post.
    await store.profiles.setState(session, ref, { ...change, movedThrough: through });
    const isMoving = through !== undefined;
    if (isMoving && isSame) return 'more';
    const deltas = totalDeltas(counts, ref.kind, shown, isMoving ? unlisted(state) : state);
    const key = profileKey(ref);
    const posts = COUNT_KEYS.reduce((sum, one) => sum + counts[one], 0);
    await store.counters.incrementPosts(session, deltas, {
      shardKey: ref.id,
      // Until the last step, no list shows the changed posts.
      changed: isMoving ? [] : [key],
      moving: [key, isMoving ? { posts, gone: state.gone } : undefined],
    });
    return isMoving ? 'more' : 'done';
  };

/**
 * One step: stores a newer version, and the visibility of its posts. An older version, or any version of a gone profile, is
 * ignored. If the version is already stored, its remaining steps continue.
 */
export const createUpdateProfile = ({ store }: Pick<Dependencies, 'store'>) => {
  const changeState = createChangeState({ store });
  return async (session: ClientSession, { ref, ...update }: ProfileUpdate): Promise<Rest> => {
    const profile = await store.profiles.findOne(session, ref);
    if (profile === undefined) {
      await store.profiles.insert(session, ref, update);
      return 'done';
    }
    const isMoving = profile.movedThrough !== undefined;
    if (profile.version === update.version && isMoving) return changeState(session, profile, profile);
    if (profile.state.gone || profile.version >= update.version) return 'done';
    return changeState(session, profile, update);
  };
};

/**
 * Stores a state from a response of the owning service if it is newer, which makes up for a lost event. Runs the first
 * step. The event runs the others. If it was lost, {@link createFinishMoves} does.
 */
export const createRefreshProfile = (dependencies: Pick<Dependencies, 'store'>) => {
  const { store } = dependencies;
  const updateProfile = createUpdateProfile(dependencies);
  return async (update: ProfileUpdate): Promise<void> => {
    const profile = (await store.profiles.find([update.ref])).get(profileKey(update.ref));
    if (profile === undefined) await store.profiles.insertIfMissing(update.ref, update);
    else if (profile.version < update.version)
      await store.transaction((session) => updateProfile(session, update));
  };
};

/** Runs `step` in transactions while it has more to do and the profile exists. */
export const createInSteps =
  ({ store }: Pick<Dependencies, 'store'>) =>
  async (
    ref: ProfileRef,
    step: (session: ClientSession, profile: Profile) => Promise<Rest>,
  ): Promise<void> => {
    const work = async (session: ClientSession): Promise<Rest> => {
      const profile = await store.profiles.findOne(session, ref);
      return profile === undefined ? 'done' : step(session, profile);
    };
    while ((await store.transaction(work)) === 'more');
  };

/** One round: completes moves that nothing else continues, e.g. after a lost event. Returns the number of profiles. */
export const createFinishMoves = ({ store }: Pick<Dependencies, 'store'>) => {
  const inSteps = createInSteps({ store });
  const changeState = createChangeState({ store });
  return async (): Promise<number> => {
    const { moving } = await store.counters.posts();
    for (const key of moving.keys())
      await inSteps(profileOfKey(key), (session, profile) => changeState(session, profile, profile));
    return moving.size;
  };
};
