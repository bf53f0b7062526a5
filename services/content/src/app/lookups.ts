/** What other services ask about posts and training services. */
import { invalid, message } from '@fitness/shared/error.ts';
import { isPublicPost, type Post } from '../domain/post.ts';
import { type ProfileState, profileKey, typeOf, userProfile } from '../domain/profile.ts';
import type { Parts } from './parts.ts';

const IDS_MAX = 200;

const checked = (ids: readonly number[]): number[] => {
  const unique = [...new Set(ids)];
  if (unique.length > IDS_MAX) throw invalid({ ids: message('validation.max_items', { max: IDS_MAX }) });
  return unique;
};

export interface ServiceAnswer {
  id: number;
  user_id: number;
  title: string;
  is_active: boolean;
}

export const lookUpTrainingServices =
  ({ store }: Parts) =>
  async (ids: readonly number[]): Promise<ServiceAnswer[]> => {
    const found = await store.trainingServices.findMany(checked(ids));
    return found.map(({ id, userId, title, isActive }) => ({
      id,
      user_id: userId,
      title,
      is_active: isActive,
    }));
  };

export interface PostAnswer {
  id: number;
  profile_type: string;
  profile_id: number;
  is_draft: boolean;
  owner_user_id?: number;
  is_public: boolean;
}

/**
 * Posts with their owner and visibility of this moment: who may fetch a private file hangs on it, so the profile's owner
 * is asked and no copy answers. One call for all gyms, one for all users. Throws `unavailable` when one is not answered.
 */
export const lookUpPosts =
  (parts: Parts) =>
  async (ids: readonly number[]): Promise<PostAnswer[]> => {
    const posts = await parts.store.posts.findMany(checked(ids));
    const states = await profilesNow(parts, posts);
    return posts.flatMap((post) => {
      const state = states.get(profileKey(post.profile));
      if (state === undefined) return [];
      const owner = state.ownerUserId === null ? {} : { owner_user_id: state.ownerUserId };
      return [
        {
          id: post.id,
          profile_type: typeOf(post.profile.kind),
          profile_id: post.profile.id,
          is_draft: post.isDraft,
          ...owner,
          is_public: isPublicPost(post, state),
        },
      ];
    });
  };

const profilesNow = async (
  { gyms, users }: Parts,
  posts: readonly Post[],
): Promise<Map<string, ProfileState>> => {
  const idsOf = (kind: 'gym' | 'user'): number[] =>
    posts.filter(({ profile }) => profile.kind === kind).map(({ profile }) => profile.id);
  const userIds = idsOf('user');
  const [foundGyms, hidden] = await Promise.all([gyms.find(idsOf('gym')), users.hidden(userIds)]);
  const states = new Map<string, ProfileState>();
  for (const [id, { state }] of foundGyms) states.set(profileKey({ kind: 'gym', id }), state);
  for (const id of userIds) {
    const { ref, state } = userProfile(id);
    if (!hidden.gone.has(id)) states.set(profileKey(ref), state);
  }
  return states;
};
