import { STEP_MAX } from '@fitness/shared/mongo/steps.ts';
import type { Dependencies } from '../dependencies.ts';
import { createRemovePost } from './remove-post.ts';

/** A counter document remembers 64 changes; after more of them at once every process forgets its lists. */
const BATCH = 50;

/** One round: deletes the posts of deleted gyms and erased accounts. Returns how many. */
export const createRemoveGonePosts = (dependencies: Pick<Dependencies, 'store' | 'outbox'>) => {
  const { store } = dependencies;
  const removePost = createRemovePost(dependencies);
  return async (): Promise<number> => {
    let removed = 0;
    for (;;) {
      const ids = await store.posts.goneIds(BATCH);
      if (ids.length === 0) return removed;
      removed += await store.transaction(async (session) => {
        // In steps of their own: each has up to 125.
        if ((await store.posts.removeTexts(session, ids, STEP_MAX)) > 0) return 0;
        for (const id of ids) await removePost(session, id);
        // A process that reads that their profile has changed no longer finds them.
        await store.counters.incrementPosts(session, {}, { shardKey: ids[0] ?? 0, changed: ids });
        return ids.length;
      });
    }
  };
};
