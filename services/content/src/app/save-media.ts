/** The copies of the public files of posts and training services (docs/adr/0101). */
import { MEDIA_COPIES_MAX, type TargetCopy } from '@fitness/contracts/media-copy.ts';
import { MODEL } from '@fitness/contracts/model-names.ts';
import type { Progress } from '@fitness/shared/kernel/progress.mjs';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../dependencies.ts';
import type { SaveMedia } from '../store/media-copy.ts';

const storeOf = ({ store }: Pick<Dependencies, 'store'>, model: string): SaveMedia | undefined => {
  if (model === MODEL.post) return store.posts.saveMedia;
  return model === MODEL.trainingService ? store.trainingServices.saveMedia : undefined;
};

/** In its own transaction. Ignores a copy of another service's target, and one that is older than the stored one. */
export const createSaveMediaCopy =
  (dependencies: Pick<Dependencies, 'store'>) =>
  async ({ model, id, ...copy }: TargetCopy): Promise<void> => {
    const save = storeOf(dependencies, model);
    if (save !== undefined) await dependencies.store.transaction((session) => save(session, id, copy));
  };

/** Asks media for the files of one target, in the transaction of an event. Throws `unavailable`. */
export const createRefreshMedia =
  (dependencies: Pick<Dependencies, 'store' | 'mediaCopies'>) =>
  async (session: ClientSession, model: string, id: number): Promise<void> => {
    const save = storeOf(dependencies, model);
    if (save === undefined) return;
    for (const copy of await dependencies.mediaCopies.find(model, [id])) await save(session, id, copy);
  };

/** Asks media for the files of all these targets. Throws `unavailable`. */
export const createRebuildMedia = (dependencies: Pick<Dependencies, 'store' | 'mediaCopies'>) => {
  const saveMediaCopy = createSaveMediaCopy(dependencies);
  return async (model: string, ids: readonly number[], progress: Progress): Promise<void> => {
    for (let start = 0; start < ids.length; start += MEDIA_COPIES_MAX) {
      const some = ids.slice(start, start + MEDIA_COPIES_MAX);
      for (const copy of await dependencies.mediaCopies.find(model, some)) await saveMediaCopy(copy);
      progress.advance('files', some.length);
    }
  };
};
