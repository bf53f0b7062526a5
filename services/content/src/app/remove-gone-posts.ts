import { STEP_MAX } from '@fitness/shared/mongo/steps.ts';
import type { Dependencies } from '../dependencies.ts';
import { createRemovePost } from './remove-post.ts';

/** Below 64, the number of changes that a counter document remembers. More at once would clear every process’s cache. */
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
        // In separate steps, because each has up to 125 text documents.
        if ((await store.posts.removeTexts(session, ids, STEP_MAX)) > 0) return 0;
        for (const id of ids) await removePost(session, id);
        // Changes name these posts by id, because a process that reloads a changed profile no longer finds these posts.
        await store.counters.incrementPosts(session, {}, { shardKey: ids[0] ?? 0, changed: ids });
        return ids.length;
      });
    }
  };
};
