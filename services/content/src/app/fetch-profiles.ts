import type { Dependencies } from '../dependencies.ts';
import {
  type ProfileKind,
  type ProfileRef,
  profileKey,
  userProfile,
  type VersionedProfileState,
} from '../domain/profile.ts';

/**
 * The current states of profiles, keyed by `profileKey`, in one call to gyms and one to identity. Unknown and erased
 * profiles are missing. Throws `unavailable`.
 */
export const createFetchProfiles =
  ({ gyms, users }: Pick<Dependencies, 'gyms' | 'users'>) =>
  async (refs: readonly ProfileRef[]): Promise<Map<string, VersionedProfileState>> => {
    const idsOf = (kind: ProfileKind): number[] =>
      refs.filter((ref) => ref.kind === kind).map(({ id }) => id);
    const userIds = idsOf('user');
    const [currentGyms, hidden] = await Promise.all([gyms.find(idsOf('gym')), users.hidden(userIds)]);
    const profiles = new Map<string, VersionedProfileState>();
    for (const [id, gym] of currentGyms) profiles.set(profileKey({ kind: 'gym', id }), gym);
    for (const id of userIds) {
      const { ref, state } = userProfile(id);
      if (hidden.get(id) !== 'gone') profiles.set(profileKey(ref), { state, version: 0 });
    }
    return profiles;
  };
