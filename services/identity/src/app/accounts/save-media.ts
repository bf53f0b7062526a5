/** The copies of the public files of users (docs/adr/0101). */
import { createMediaCopies, MEDIA_COPIES_MAX } from '@fitness/contracts/media-copy.ts';
import { MODEL } from '@fitness/contracts/model-names.ts';
import type { Progress } from '@fitness/shared/kernel/progress.mjs';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../../dependencies.ts';

export const createMediaCopyUseCases = ({
  store,
  mediaCopies,
}: Pick<Dependencies, 'store' | 'mediaCopies'>) => {
  const { rebuildMedia, ...copies } = createMediaCopies<ClientSession | undefined>({
    mediaCopies,
    saves: new Map([[MODEL.user, store.users.saveMedia]]),
    // One write needs none.
    transaction: (save) => save(undefined),
  });
  return {
    ...copies,

    /** Corrects the grams of all accounts and asks media for their files; returns how many there are. Throws `unavailable`. */
    rebuild: async (progress: Progress): Promise<number> => {
      progress.expect(2 * (await store.users.estimate()));
      await store.users.reindex(progress);
      let rebuilt = 0;
      for await (const ids of store.users.liveIds(MEDIA_COPIES_MAX)) {
        await rebuildMedia(MODEL.user, ids, progress, 'files of accounts');
        rebuilt += ids.length;
      }
      return rebuilt;
    },
  };
};
