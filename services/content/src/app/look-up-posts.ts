import type { Dependencies } from '../dependencies.ts';
import { isPublicPost } from '../domain/post.ts';
import { profileKey, typeOf } from '../domain/profile.ts';
import { createFetchProfiles } from './fetch-profiles.ts';
import { requestedIds } from './requested-ids.ts';

export interface PostRow {
  id: number;
  profile_type: string;
  profile_id: number;
  is_draft: boolean;
  owner_user_id?: number;
  is_public: boolean;
}

/**
 * Posts for other services. Unknown posts are missing. Access to private files depends on owner and visibility, so both
 * come from the services that own the profiles, not from the read model. Throws `unavailable`.
 */
export const createLookUpPosts = (dependencies: Pick<Dependencies, 'store' | 'gyms' | 'users'>) => {
  const { store } = dependencies;
  const fetchProfiles = createFetchProfiles(dependencies);
  return async (ids: readonly number[]): Promise<PostRow[]> => {
    const posts = await store.posts.findMany(requestedIds(ids));
    const profiles = await fetchProfiles(posts.map(({ profile }) => profile));
    return posts.flatMap((post) => {
      const state = profiles.get(profileKey(post.profile))?.state;
      if (state === undefined) return [];
      return [
        {
          id: post.id,
          profile_type: typeOf(post.profile.kind),
          profile_id: post.profile.id,
          is_draft: post.is_draft,
          ...(state.ownerUserId === null ? {} : { owner_user_id: state.ownerUserId }),
          is_public: isPublicPost(post, state),
        },
      ];
    });
  };
};
