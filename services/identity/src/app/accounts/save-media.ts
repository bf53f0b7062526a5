/** The copies of the public files of users (docs/adr/0101). */
import { MEDIA_COPIES_MAX, type TargetCopy } from '@fitness/contracts/media-copy.ts';
import { MODEL } from '@fitness/contracts/model-names.ts';
import type { Progress } from '@fitness/shared/kernel/progress.mjs';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../../dependencies.ts';

/** Ignores a copy of another service's target, and one that is older than the stored one. */
const createSaveMediaCopy =
  ({ store }: Pick<Dependencies, 'store'>) =>
  async ({ model, id, ...copy }: TargetCopy): Promise<void> => {
    if (model === MODEL.user) await store.users.saveMedia(id, copy);
  };

/** Asks media for the files of a user, in the transaction of an event. Throws `unavailable`. */
const createRefreshMedia =
  ({ store, mediaCopies }: Pick<Dependencies, 'store' | 'mediaCopies'>) =>
  async (session: ClientSession, userId: number): Promise<void> => {
    for (const copy of await mediaCopies.find(MODEL.user, [userId]))
      await store.users.saveMedia(userId, copy, session);
  };

/** Corrects the grams of all accounts and asks media for their files; returns how many there are. Throws `unavailable`. */
const createRebuild =
  ({ store, mediaCopies }: Pick<Dependencies, 'store' | 'mediaCopies'>) =>
  async (progress: Progress): Promise<number> => {
    progress.expect(2 * (await store.users.estimate()));
    await store.users.reindex(progress);
    let rebuilt = 0;
    for await (const ids of store.users.liveIds(MEDIA_COPIES_MAX)) {
      for (const copy of await mediaCopies.find(MODEL.user, ids)) await store.users.saveMedia(copy.id, copy);
      rebuilt += ids.length;
      progress.advance('files of accounts', ids.length);
    }
    return rebuilt;
  };

export const createMediaCopyUseCases = (dependencies: Pick<Dependencies, 'store' | 'mediaCopies'>) => ({
  saveMediaCopy: createSaveMediaCopy(dependencies),
  refreshMedia: createRefreshMedia(dependencies),
  rebuild: createRebuild(dependencies),
});
