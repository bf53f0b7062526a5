import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { notFound } from '@fitness/shared/kernel/error.ts';
import type { Dependencies } from '../dependencies.ts';
import { countKey, totalKey } from '../domain/post-lists.ts';
import { createRequireOwner } from './post-owner.ts';
import { recordPostChange } from './record-change.ts';
import { createRemovePost } from './remove-post.ts';

/** 404 unless the caller sees the post, 403 unless they own its profile. */
export const createDeletePost = (dependencies: Pick<Dependencies, 'store' | 'gyms' | 'outbox' | 'audit'>) => {
  const { store } = dependencies;
  const requireOwner = createRequireOwner(dependencies);
  const removePost = createRemovePost(dependencies);
  return async (caller: UserCaller, id: number): Promise<void> => {
    await requireOwner(caller, id);
    await store.transaction(async (session) => {
      const post = await removePost(session, id);
      if (post === undefined) throw notFound();
      await recordPostChange(dependencies, session, caller, { before: post, after: null });
      if (post.gone) return;
      const profile = await store.profiles.incrementCounts(session, post.profile, { [countKey(post)]: -1 });
      // The counters of a profile that is gone no longer include its posts.
      if (profile === undefined) return;
      const key = totalKey(post, post.profile.kind, profile.state);
      await store.counters.incrementPosts(session, id, { [key]: -1 });
    });
  };
};
