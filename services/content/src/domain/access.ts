/** Who may see and change what. */
import { type Caller, can, isOwn } from '@fitness/shared/kernel/caller.ts';
import type { Post } from './post.ts';
import { isPublicProfile, type ProfileState } from './profile.ts';
import type { TrainingService } from './training-service.ts';

/** Covers one's own training services. */
export const OWN_SERVICES = 'training_services.create';

/** Every route of posts needs a permission, which covers one's own: it does not matter of which kind the token is. */
const isUser = (viewer: Caller, userId: number | null): boolean =>
  viewer.kind === 'user' && viewer.userId === userId;

export const ownsProfile = (viewer: Caller, profile: ProfileState): boolean =>
  isUser(viewer, profile.ownerUserId);

export const seesAllPostsOf = (viewer: Caller, profile: ProfileState): boolean =>
  can(viewer, 'posts.view_all') || ownsProfile(viewer, profile);

/** A profile that the viewer may not see is answered as one that does not exist. */
export const seesProfile = (viewer: Caller, profile: ProfileState): boolean =>
  !profile.gone && (isPublicProfile(profile) || seesAllPostsOf(viewer, profile));

export const seesPost = (viewer: Caller, post: Post): boolean =>
  !post.gone && (post.is_public || isUser(viewer, post.owner_user_id) || can(viewer, 'posts.view_all'));

export const sells = (viewer: Caller, service: Pick<TrainingService, 'user_id'>): boolean =>
  isOwn(viewer, service.user_id, OWN_SERVICES);

export const managesService = (viewer: Caller, service: TrainingService): boolean =>
  sells(viewer, service) || can(viewer, 'training_services.update_any');

/** `posts.view_all` covers training services too, here as in the list. */
export const seesService = (viewer: Caller, service: TrainingService): boolean =>
  service.is_active || managesService(viewer, service) || can(viewer, 'posts.view_all');
