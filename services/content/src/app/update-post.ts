import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { notFound } from '@fitness/shared/kernel/error.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../dependencies.ts';
import { applyChange, type Change, isEmptyChange } from '../domain/change.ts';
import type { Post, PostFields } from '../domain/post.ts';
import { countKey, totalKey } from '../domain/post-lists.ts';
import { profileKey } from '../domain/profile.ts';
import { createFindOwnPost } from './post-owner.ts';
import { type PostResource, toPostResource } from './post-resource.ts';
import { recordPostChange } from './record-change.ts';

/** 404 unless the caller may see the post, 403 unless they own its profile. */
export const createUpdatePost = (
  dependencies: Pick<Dependencies, 'store' | 'gyms' | 'clock' | 'baseUrl' | 'audit' | 'profileQueue'>,
) => {
  const { store, clock, baseUrl, profileQueue } = dependencies;
  const findOwnPost = createFindOwnPost(dependencies);
  return async (caller: UserCaller, id: number, change: Change<PostFields>): Promise<PostResource> => {
    const { profile: ref } = await findOwnPost(caller, id);
    const update = async (session: ClientSession): Promise<Post> => {
      const post = await store.posts.find(id, session);
      if (post === undefined || post.gone) throw notFound();
      if (isEmptyChange(change)) return post;
      const fields: PostFields = applyChange<PostFields>(post, change);
      const profile = await store.profiles.incrementCounts(
        session,
        post.profile,
        moveOnePost(countKey(post), countKey(fields)),
      );
      if (profile === undefined) throw notFound();
      const { kind } = post.profile;
      const deltas = moveOnePost(totalKey(post, kind, profile.shown), totalKey(fields, kind, profile.shown));
      await store.counters.incrementPosts(session, deltas, { shardKey: id, changed: [id] });
      const after = await store.posts.update(session, post, fields, profile.state, clock.now());
      await recordPostChange(dependencies, session, caller, { before: post, after });
      return after;
    };
    const after = await profileQueue.run(profileKey(ref), () => store.transaction(update));
    return toPostResource(after, baseUrl);
  };
};

/** Counter deltas for one post that moves from `from` to `to`. */
const moveOnePost = <Key extends string>(from: Key, to: Key): Partial<Record<Key, number>> =>
  from === to ? {} : ({ [from]: -1, [to]: 1 } as Partial<Record<Key, number>>);
