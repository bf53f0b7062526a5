/** The copies of the public files of gyms (docs/adr/0101). */
import { MEDIA_COPIES_MAX, type TargetCopy } from '@fitness/contracts/media-copy.ts';
import { MODEL } from '@fitness/contracts/model-names.ts';
import type { Progress } from '@fitness/shared/kernel/progress.mjs';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../dependencies.ts';

/** In its own transaction. Ignores a copy of another service's target, and one that is older than the stored one. */
export const createSaveMediaCopy =
  ({ store }: Pick<Dependencies, 'store'>) =>
  async ({ model, id, ...copy }: TargetCopy): Promise<void> => {
    if (model === MODEL.gym) await store.transaction((session) => store.gyms.saveMedia(session, id, copy));
  };

/** Asks media for the files of a gym, in the transaction of an event. Throws `unavailable`. */
export const createRefreshMedia =
  ({ store, mediaCopies }: Pick<Dependencies, 'store' | 'mediaCopies'>) =>
  async (session: ClientSession, gymId: number): Promise<void> => {
    for (const copy of await mediaCopies.find(MODEL.gym, [gymId]))
      await store.gyms.saveMedia(session, gymId, copy);
  };

/** Asks media for the files of all gyms. Throws `unavailable`. */
export const createRebuildMedia = (dependencies: Pick<Dependencies, 'store' | 'mediaCopies'>) => {
  const saveMediaCopy = createSaveMediaCopy(dependencies);
  return async (progress: Progress): Promise<void> => {
    const ids = await dependencies.store.gyms.allIds();
    progress.expect(ids.length, 'files of gyms');
    for (let start = 0; start < ids.length; start += MEDIA_COPIES_MAX) {
      const some = ids.slice(start, start + MEDIA_COPIES_MAX);
      for (const copy of await dependencies.mediaCopies.find(MODEL.gym, some)) await saveMediaCopy(copy);
      progress.advance('files of gyms', some.length);
    }
  };
};
