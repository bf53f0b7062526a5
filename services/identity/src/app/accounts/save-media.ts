/** The copies of the public files of users (docs/adr/0101). */
import { createMediaCopies, MEDIA_COPIES_MAX } from '@fitness/contracts/media-copy.ts';
import { MODEL } from '@fitness/contracts/model-names.ts';
import type { Progress } from '@fitness/shared/kernel/progress.mjs';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../../dependencies.ts';

export const createMediaCopyUseCases = ({ store, mediaCopies }: Dependencies) => {
  const { rebuildMedia, ...copies } = createMediaCopies<ClientSession | undefined>({
    mediaCopies,
    saves: new Map([[MODEL.user, store.users.saveMedia]]),
    // A single write needs no transaction.
    transaction: (save) => save(undefined),
  });
  return {
    ...copies,

    /** Corrects the grams and files of all accounts, and returns their number. Throws `unavailable` without media. */
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
