import type { Dependencies } from '../dependencies.ts';
import { createRemovePost } from './remove-post.ts';

/** Each has up to 125 documents of grams. */
const BATCH = 7;

/** One round: deletes the posts of deleted gyms and erased accounts. Returns how many. */
export const createRemoveGonePosts = (dependencies: Pick<Dependencies, 'store' | 'outbox'>) => {
  const { store } = dependencies;
  const removePost = createRemovePost(dependencies);
  return async (): Promise<number> => {
    let removed = 0;
    for (;;) {
      const ids = await store.posts.goneIds(BATCH);
      if (ids.length === 0) return removed;
      await store.transaction(async (session) => {
        for (const id of ids) await removePost(session, id);
        // Whoever reads that their profile has changed no longer finds them.
        await store.counters.incrementPosts(session, {}, { shardKey: ids[0] ?? 0, changed: ids });
      });
      removed += ids.length;
    }
  };
};
