/** Rules for who may see and change posts and training services. */
import { type Caller, can, isOwn } from '@fitness/shared/kernel/caller.ts';
import type { Post } from './post.ts';
import { isPublicProfile, type ProfileState } from './profile.ts';
import type { TrainingService } from './training-service.ts';

/** The permission that covers the caller's own training services. */
export const OWN_SERVICES = 'training_services.create';

/** Every post route requires a permission that covers the caller's own posts, so the kind of token does not matter. */
const isUser = (viewer: Caller, userId: number | null): boolean =>
  viewer.kind === 'user' && viewer.userId === userId;

export const ownsProfile = (viewer: Caller, profile: ProfileState): boolean =>
  isUser(viewer, profile.ownerUserId);

export const seesAllPostsOf = (viewer: Caller, profile: ProfileState): boolean =>
  can(viewer, 'posts.view_all') || ownsProfile(viewer, profile);

/** A profile that the viewer may not see gets the same response as one that does not exist. */
export const seesProfile = (viewer: Caller, profile: ProfileState): boolean =>
  !profile.gone && (isPublicProfile(profile) || seesAllPostsOf(viewer, profile));

export const seesPost = (viewer: Caller, post: Post): boolean =>
  !post.gone && (post.is_public || isUser(viewer, post.owner_user_id) || can(viewer, 'posts.view_all'));

export const sells = (viewer: Caller, service: Pick<TrainingService, 'user_id'>): boolean =>
  isOwn(viewer, service.user_id, OWN_SERVICES);

export const managesService = (viewer: Caller, service: TrainingService): boolean =>
  sells(viewer, service) || can(viewer, 'training_services.update_any');

/** `posts.view_all` covers training services too, as it does in the list. */
export const seesService = (viewer: Caller, service: TrainingService): boolean =>
  service.is_active || managesService(viewer, service) || can(viewer, 'posts.view_all');
