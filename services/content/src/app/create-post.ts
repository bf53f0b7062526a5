import { NO_MEDIA } from '@fitness/contracts/media-copy.ts';
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { forbidden, invalid, message } from '@fitness/shared/kernel/error.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../dependencies.ts';
import { ownsProfile } from '../domain/access.ts';
import { isPublicPost, type Post, type PostFields } from '../domain/post.ts';
import { countKey, totalKey } from '../domain/post-lists.ts';
import { isPublicProfile, type ProfileRef, profileKey } from '../domain/profile.ts';
import { createFetchProfile } from './post-owner.ts';
import { type PostResource, toPostResource } from './post-resource.ts';
import { createRefreshProfile } from './update-profile.ts';

const unknownProfile = () => invalid({ profile_id: message('validation.unknown') });

/** 422 for a profile that does not exist or that the caller may not see; 403 for another user’s profile. */
export const createCreatePost = (
  dependencies: Pick<Dependencies, 'store' | 'gyms' | 'sequences' | 'clock' | 'baseUrl' | 'profileQueue'>,
) => {
  const { store, sequences, clock, baseUrl, profileQueue } = dependencies;
  const fetchProfile = createFetchProfile(dependencies);
  const refreshProfile = createRefreshProfile(dependencies);
  return async (caller: UserCaller, ref: ProfileRef, fields: PostFields): Promise<PostResource> => {
    const current = await fetchProfile(ref);
    const isOwner = current !== undefined && ownsProfile(caller, current.state);
    // An inactive gym is unknown to everyone but its owner.
    if (current === undefined || (!isOwner && !isPublicProfile(current.state))) throw unknownProfile();
    if (!isOwner) throw forbidden(`${ref.kind} ${ref.id} is not the caller's`);
    await refreshProfile({ ref, ...current });
    const now = clock.now();
    const id = await sequences.next('posts');
    const create = async (session: ClientSession): Promise<Post> => {
      const profile = await store.profiles.incrementCounts(session, ref, { [countKey(fields)]: 1 }, id);
      if (profile === undefined) throw unknownProfile();
      const { state } = profile;
      const post: Post = {
        id,
        profile: ref,
        ...fields,
        owner_user_id: state.ownerUserId,
        is_public: isPublicPost(fields, state),
        gone: false,
        created_at: now,
        updated_at: now,
        version: 1,
        media: NO_MEDIA,
      };
      await store.posts.insert(session, post, state);
      const deltas = { [totalKey(fields, ref.kind, profile.shown)]: 1 };
      await store.counters.incrementPosts(session, deltas, { shardKey: id, newest: id, changed: [id] });
      return post;
    };
    const post = await profileQueue.run(profileKey(ref), () => store.transaction(create));
    return toPostResource(post, baseUrl);
  };
};
