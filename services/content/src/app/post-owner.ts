/** Ownership checks shared by creating, updating and deleting a post. */
import { can, type UserCaller } from '@fitness/shared/kernel/caller.ts';
import { notFound } from '@fitness/shared/kernel/error.ts';
import { missingPermission } from '@fitness/shared/kernel/missing-permission.ts';
import type { Dependencies } from '../dependencies.ts';
import { ownsProfile } from '../domain/access.ts';
import type { Post } from '../domain/post.ts';
import { type ProfileRef, userProfile, type VersionedProfileState } from '../domain/profile.ts';

/**
 * The current state of a post's profile, from gyms; undefined for an unknown gym. A user profile needs no call to identity:
 * only its owner passes, and their token has just been checked.
 */
export const createFetchProfile =
  ({ gyms }: Pick<Dependencies, 'gyms'>) =>
  async (ref: ProfileRef): Promise<VersionedProfileState | undefined> =>
    ref.kind === 'user'
      ? { state: userProfile(ref.id).state, version: 0 }
      : (await gyms.find([ref.id])).get(ref.id);

/** The post. 404 unless the caller may see it; 403 unless they own its profile now or hold `posts.update_any`. */
export const createFindOwnPost = (dependencies: Pick<Dependencies, 'store' | 'gyms'>) => {
  const { store } = dependencies;
  const fetchProfile = createFetchProfile(dependencies);
  return async (caller: UserCaller, id: number): Promise<Post> => {
    const post = await store.posts.find(id);
    if (post === undefined || post.gone) throw notFound();
    if (can(caller, 'posts.update_any')) return post;
    const profile = await fetchProfile(post.profile);
    if (profile !== undefined && ownsProfile(caller, profile.state)) return post;
    if (!post.is_public && !can(caller, 'posts.view_all')) throw notFound();
    throw missingPermission(caller, { permissions: ['posts.update_any'] });
  };
};
