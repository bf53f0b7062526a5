/** The read model of gyms and accounts, from their events. */
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
 * One step: stores the state of a profile, and gives it to as many of its posts as one transaction may change. If more are
 * left, the profile is moving until the last step: its posts are in no public total, lists leave them out, and its document
 * tells how far the steps have come. A transaction that writes a post gives it the new state, and conflicts with a step.
 */
export const createChangeState =
  ({ store }: Pick<Dependencies, 'store'>) =>
  async (session: ClientSession, known: Profile, change: VersionedProfileState): Promise<Rest> => {
    const { ref, counts, shown, movedThrough } = known;
    const { state } = change;
    const isSame = isSameState(known.state, state);
    if (isSame && movedThrough === undefined) {
      await store.profiles.setState(session, ref, change);
      return 'done';
    }
    const from = isSame ? movedThrough : undefined;
    const through = await store.posts.updateVisibility(session, ref, state, from ?? 0);
    // Written last, so that the step fails rather than a request that writes a post meanwhile.
    await store.profiles.setState(session, ref, { ...change, movedThrough: through });
    const isMoving = through !== undefined;
    if (isMoving && isSame) return 'more';
    const deltas = totalDeltas(counts, ref.kind, shown, isMoving ? unlisted(state) : state);
    const key = profileKey(ref);
    const posts = COUNT_KEYS.reduce((sum, one) => sum + counts[one], 0);
    await store.counters.incrementPosts(session, deltas, {
      shardKey: ref.id,
      // Nobody shows a post that a step before the last one changes.
      changed: isMoving ? [] : [key],
      moving: [key, isMoving ? { posts, gone: state.gone } : undefined],
    });
    return isMoving ? 'more' : 'done';
  };

/**
 * One step: stores a newer version, and the visibility of its posts. An older version, or one of a gone profile, is ignored.
 * The stored version continues what it began.
 */
export const createUpdateProfile = ({ store }: Pick<Dependencies, 'store'>) => {
  const changeState = createChangeState({ store });
  return async (session: ClientSession, { ref, ...update }: ProfileUpdate): Promise<Rest> => {
    const known = await store.profiles.findOne(session, ref);
    if (known === undefined) {
      await store.profiles.insert(session, ref, update);
      return 'done';
    }
    const isMoving = known.movedThrough !== undefined;
    if (known.version === update.version && isMoving) return changeState(session, known, known);
    if (known.state.gone || known.version >= update.version) return 'done';
    return changeState(session, known, update);
  };
};

/**
 * Stores a state that the owning service answered, if it is newer: this makes up for a lost event. Does the first step; the
 * event, or else {@link createFinishMoves}, does the others.
 */
export const createRefreshProfile = (dependencies: Pick<Dependencies, 'store'>) => {
  const { store } = dependencies;
  const updateProfile = createUpdateProfile(dependencies);
  return async (update: ProfileUpdate): Promise<void> => {
    const known = (await store.profiles.find([update.ref])).get(profileKey(update.ref));
    if (known === undefined) await store.profiles.insertIfMissing(update.ref, update);
    else if (known.version < update.version)
      await store.transaction((session) => updateProfile(session, update));
  };
};

/** Runs `step` in transactions, as long as it has more to do and the profile is known. */
export const createInSteps =
  ({ store }: Pick<Dependencies, 'store'>) =>
  async (ref: ProfileRef, step: (session: ClientSession, known: Profile) => Promise<Rest>): Promise<void> => {
    const work = async (session: ClientSession): Promise<Rest> => {
      const known = await store.profiles.findOne(session, ref);
      return known === undefined ? 'done' : step(session, known);
    };
    while ((await store.transaction(work)) === 'more');
  };

/** One round: does the steps that nobody continues, such as those of a lost event. Returns of how many profiles. */
export const createFinishMoves = ({ store }: Pick<Dependencies, 'store'>) => {
  const inSteps = createInSteps({ store });
  const changeState = createChangeState({ store });
  return async (): Promise<number> => {
    const { moving } = await store.counters.posts();
    for (const key of moving.keys())
      await inSteps(profileOfKey(key), (session, known) => changeState(session, known, known));
    return moving.size;
  };
};
