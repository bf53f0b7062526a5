/** The stored form of a post. */
import { NO_MEDIA } from '@fitness/contracts/media-copy.ts';
import { isPublicPost, type Post, type PostFlags, pickPostFields } from '../domain/post.ts';
import { facetsOf } from '../domain/post-lists.ts';
import { type ProfileRef, type ProfileState, profileKey } from '../domain/profile.ts';
import type { PostDocument, ProfileDocument } from './models/posts.ts';

export const fromDocument = (document: Omit<PostDocument, 'facets'>): Post => ({
  id: document._id,
  profile: { kind: document.profile_kind, id: document.profile_id },
  ...pickPostFields(document),
  owner_user_id: document.owner_user_id,
  is_public: document.is_public,
  gone: document.gone,
  created_at: document.created_at,
  updated_at: document.updated_at,
  version: document.version,
  media: document.media ?? NO_MEDIA,
});

/** The fields derived from the state of the profile. */
export const visibility = (
  flags: PostFlags,
  ref: ProfileRef,
  profile: ProfileState,
): Pick<PostDocument, 'owner_user_id' | 'is_public' | 'gone' | 'facets'> => ({
  owner_user_id: profile.ownerUserId,
  is_public: isPublicPost(flags, profile),
  gone: profile.gone,
  facets: facetsOf(flags, ref, profile),
});

/** Current values of the fields that a post of a moving profile may still store from an older state. */
export const visibilityOfMoving = (
  profile: ProfileDocument | undefined,
): Pick<PostDocument, 'owner_user_id' | 'is_public' | 'gone'> | undefined =>
  profile?.moved_through === undefined
    ? undefined
    : { owner_user_id: profile.owner_user_id, is_public: false, gone: profile.gone };

export const toPostDocument = (post: Post, profile: ProfileState): PostDocument => ({
  _id: post.id,
  profile_key: profileKey(post.profile),
  profile_kind: post.profile.kind,
  profile_id: post.profile.id,
  ...pickPostFields(post),
  ...visibility(post, post.profile, profile),
  created_at: post.created_at,
  updated_at: post.updated_at,
  version: post.version,
  media: post.media,
});
