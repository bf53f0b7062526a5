import { MEDIA_COPIES_MAX } from '@fitness/contracts/media-copy.ts';
import { MODEL } from '@fitness/contracts/model-names.ts';
import type { Progress } from '@fitness/shared/kernel/progress.mjs';
import type { Dependencies } from '../../dependencies.ts';
import { createMediaCopyUseCases } from './save-media.ts';
import { createRebuildSubscriptions } from './subscriptions.ts';

/**
 * Corrects the grams, files and subscriptions of all accounts, and returns their number. Throws `unavailable` without media or
 * store-billing.
 */
export const createRebuild = (dependencies: Dependencies) => {
  const { store } = dependencies;
  const { rebuildMedia } = createMediaCopyUseCases(dependencies);
  const rebuildSubscriptions = createRebuildSubscriptions(dependencies);
  return async (progress: Progress): Promise<number> => {
    progress.expect(2 * (await store.users.estimate()));
    await store.users.reindex(progress);
    let rebuilt = 0;
    for await (const ids of store.users.liveIds(MEDIA_COPIES_MAX)) {
      await rebuildSubscriptions(ids);
      await rebuildMedia(MODEL.user, ids, progress, 'files and subscriptions of accounts');
      rebuilt += ids.length;
    }
    return rebuilt;
  };
};
