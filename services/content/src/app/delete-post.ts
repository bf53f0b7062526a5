import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { notFound } from '@fitness/shared/kernel/error.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../dependencies.ts';
import { countKey, totalKey } from '../domain/post-lists.ts';
import { profileKey } from '../domain/profile.ts';
import { createFindOwnPost } from './post-owner.ts';
import { recordPostChange } from './record-change.ts';
import { createRemovePost } from './remove-post.ts';

/** 404 unless the caller may see the post, 403 unless they own its profile. */
export const createDeletePost = (
  dependencies: Pick<Dependencies, 'store' | 'gyms' | 'outbox' | 'audit' | 'profileQueue'>,
) => {
  const { store, profileQueue } = dependencies;
  const findOwnPost = createFindOwnPost(dependencies);
  const removePost = createRemovePost(dependencies);
  return async (caller: UserCaller, id: number): Promise<void> => {
    const { profile: ref } = await findOwnPost(caller, id);
    const remove = async (session: ClientSession): Promise<void> => {
      const post = await removePost(session, id);
      if (post === undefined) throw notFound();
      await recordPostChange(dependencies, session, caller, { before: post, after: null });
      const profile = post.gone
        ? undefined
        : await store.profiles.incrementCounts(session, post.profile, { [countKey(post)]: -1 });
      // The counters no longer include the posts of a gone profile.
      const deltas = profile === undefined ? {} : { [totalKey(post, post.profile.kind, profile.shown)]: -1 };
      await store.counters.incrementPosts(session, deltas, { shardKey: id, changed: [id] });
    };
    await profileQueue.run(profileKey(ref), () => store.transaction(remove));
  };
};
