/** The read model of gyms and accounts, from their events. */
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../dependencies.ts';
import { NO_POSTS, totalDeltas } from '../domain/post-lists.ts';
import { type ProfileRef, profileKey, type VersionedProfileState } from '../domain/profile.ts';

export interface ProfileUpdate extends VersionedProfileState {
  ref: ProfileRef;
}

/** Stores a newer version, and the visibility of its posts. An older version, or one of a gone profile, is ignored. */
export const createUpdateProfile =
  ({ store }: Pick<Dependencies, 'store'>) =>
  async (session: ClientSession, { ref, state, version }: ProfileUpdate): Promise<void> => {
    const known = await store.profiles.findOne(session, ref);
    if (known === undefined)
      return store.profiles.insert(session, { ref, state, version, counts: NO_POSTS, newest: 0 });
    if (known.state.gone || known.version >= version) return;
    await store.profiles.setState(session, ref, { state, version });
    const isSame =
      known.state.ownerUserId === state.ownerUserId && known.state.isActive === state.isActive && !state.gone;
    if (isSame) return;
    const deltas = totalDeltas(known.counts, ref.kind, known.state, state);
    await store.counters.incrementPosts(session, deltas, { shardKey: ref.id, changed: [profileKey(ref)] });
    await store.posts.updateVisibility(session, ref, state);
  };

/** Stores a state that the owning service answered, if it is newer: this makes up for a lost event. */
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
