/** Posts on the caller's own profile or gym: written by their owner, seen by whom the contract (5) lets see them. */
import { postDeleted } from '@fitness/proto/events/content.ts';
import { type Caller, can, type UserCaller } from '@fitness/shared/caller.ts';
import { forbidden, invalid, message, notFound } from '@fitness/shared/error.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { KnownGym } from '../clients/gyms.ts';
import { cellOf, countKey, type Post } from '../domain/post.ts';
import { isPublicProfile, type ProfileRef, type ProfileState, userProfile } from '../domain/profile.ts';
import type { PostContent } from '../store/posts.ts';
import { learnProfile } from './keep-profiles.ts';
import type { Parts } from './parts.ts';
import { type PostResource, showNewPost, showPosts } from './resources.ts';

const isOwnedBy = (profile: Pick<ProfileState, 'ownerUserId'>, caller: Caller): boolean =>
  caller.kind === 'user' && profile.ownerUserId === caller.userId;

const maySee = (post: Post, viewer: Caller): boolean => {
  if (post.gone) return false;
  return post.isPublic || isOwnedBy(post, viewer) || can(viewer, 'posts.view_all');
};

/** 404 for a post that the viewer may not see, as for one that is not there. */
export type GetPost = (viewer: Caller, id: number) => Promise<PostResource>;

export const getPost =
  ({ store, decorations }: Parts): GetPost =>
  async (viewer, id) => {
    const post = await store.posts.find(id);
    if (post === undefined || !maySee(post, viewer)) throw notFound();
    const [resource] = await showPosts(decorations, [post]);
    return resource as PostResource;
  };

/** 422 for a profile that is not there, 403 for one that is not the caller's. */
export type CreatePost = (
  caller: UserCaller,
  profile: ProfileRef,
  content: PostContent,
) => Promise<PostResource>;

export const createPost =
  (parts: Parts): CreatePost =>
  async (caller, ref, content) => {
    const { store, sequences, clock } = parts;
    const now = await profileNow(parts, ref);
    const owned = isOwnedBy(now?.state ?? { ownerUserId: null }, caller);
    // An inactive gym is as good as none to whoever does not own it (contract 4).
    if (now === undefined || (!owned && !isPublicProfile(now.state)))
      throw invalid({ profile_id: message('validation.unknown') });
    if (!owned) throw forbidden(`${ref.kind} ${ref.id} is not the caller's`);
    await learnProfile(parts, { ref, ...now });
    const writtenAt = clock.now();
    const id = await sequences.next('posts');
    const post = await store.transaction(async (session) => {
      const profile = await store.profiles.count(session, ref, { [countKey(content)]: 1 }, id);
      if (profile === undefined) throw invalid({ profile_id: message('validation.unknown') });
      const fresh: Post = {
        id,
        profile: ref,
        ...content,
        ownerUserId: profile.state.ownerUserId,
        isPublic: false,
        gone: false,
        createdAt: writtenAt,
        updatedAt: writtenAt,
        version: 1,
      };
      await store.posts.insert(session, fresh, profile.state);
      await store.counters.movePosts(session, id, { [cellOf(content, ref.kind, profile.state)]: 1 }, id);
      return fresh;
    });
    return showNewPost(post);
  };

/** Only what is given changes. 404 unless seen, 403 unless owned. */
export type UpdatePost = (
  caller: UserCaller,
  id: number,
  change: { [Field in keyof PostContent]?: PostContent[Field] | undefined },
) => Promise<PostResource>;

export const updatePost =
  (parts: Parts): UpdatePost =>
  async (caller, id, change) => {
    const { store, clock, decorations } = parts;
    await requireOwner(parts, caller, id);
    const written = await store.transaction(async (session) => {
      const post = await store.posts.find(id, session);
      if (post === undefined || post.gone) throw notFound();
      const given = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
      const content: PostContent = { ...post, ...given };
      const from = countKey(post);
      const to = countKey(content);
      const moves = from === to ? {} : { [from]: -1, [to]: 1 };
      const profile = await store.profiles.count(session, post.profile, moves);
      if (profile === undefined) throw notFound();
      const { state } = profile;
      const cells = [
        cellOf(post, post.profile.kind, state),
        cellOf(content, post.profile.kind, state),
      ] as const;
      if (cells[0] !== cells[1])
        await store.counters.movePosts(session, id, { [cells[0]]: -1, [cells[1]]: 1 });
      return store.posts.write(session, post, content, state, clock.now());
    });
    const [resource] = await showPosts(decorations, [written]);
    return resource as PostResource;
  };

/** 404 unless seen, 403 unless owned. */
export type DeletePost = (caller: UserCaller, id: number) => Promise<void>;

export const deletePost =
  (parts: Parts): DeletePost =>
  async (caller, id) => {
    await requireOwner(parts, caller, id);
    await parts.store.transaction(async (session) => {
      const removed = await removePost(parts, session, id);
      if (removed === undefined) throw notFound();
      if (removed.gone) return;
      const { store } = parts;
      const profile = await store.profiles.count(session, removed.profile, { [countKey(removed)]: -1 });
      // Nothing to count down: what a removed profile had was taken off the counters with it.
      if (profile === undefined) return;
      await store.counters.movePosts(session, id, {
        [cellOf(removed, removed.profile.kind, profile.state)]: -1,
      });
    });
  };

/** Removes a post and tells the others; undefined when it was not there. */
const removePost = async (
  { store, outbox }: Pick<Parts, 'store' | 'outbox'>,
  session: ClientSession,
  id: number,
): Promise<Post | undefined> => {
  const removed = await store.posts.remove(session, id);
  if (removed === undefined) return undefined;
  await outbox.emit(session, postDeleted, {
    subject: id,
    aggregateVersion: removed.version + 1,
    data: { post_id: id },
  });
  return removed;
};

/** A profile as its owner's service knows it now; a user profile is asked for only where it is not the caller's. */
const profileNow = async ({ gyms }: Parts, ref: ProfileRef): Promise<KnownGym | undefined> =>
  ref.kind === 'user'
    ? { state: userProfile(ref.id).state, version: 0 }
    : (await gyms.find([ref.id])).get(ref.id);

/** The owner of the profile, who is asked for now, or an operator. */
const requireOwner = async (parts: Parts, caller: UserCaller, id: number): Promise<void> => {
  const post = await parts.store.posts.find(id);
  if (post === undefined || post.gone) throw notFound();
  if (can(caller, 'posts.update_any')) return;
  const now = await profileNow(parts, post.profile);
  if (now !== undefined && isOwnedBy(now.state, caller)) return;
  if (!post.isPublic && !can(caller, 'posts.view_all')) throw notFound();
  throw forbidden(`post ${id} is on ${post.profile.kind} ${post.profile.id}`);
};

/** One round over posts whose profile is gone; each is deleted with its event. Returns how many. */
export type RemoveGonePosts = () => Promise<number>;

const REMOVED_AT_ONCE = 20;

export const removeGonePosts =
  (parts: Pick<Parts, 'store' | 'outbox'>): RemoveGonePosts =>
  async () => {
    let removed = 0;
    for (;;) {
      const ids = await parts.store.posts.goneIds(REMOVED_AT_ONCE);
      if (ids.length === 0) return removed;
      await parts.store.transaction(async (session) => {
        for (const id of ids) await removePost(parts, session, id);
      });
      removed += ids.length;
    }
  };
