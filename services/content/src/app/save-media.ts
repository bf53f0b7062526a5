/** The copies of the public files of posts and training services (docs/adr/0101). */
import { createMediaCopies } from '@fitness/contracts/media-copy.ts';
import { MODEL } from '@fitness/contracts/model-names.ts';
import type { Dependencies } from '../dependencies.ts';

export const createMediaCopyUseCases = ({
  store,
  mediaCopies,
}: Pick<Dependencies, 'store' | 'mediaCopies'>) =>
  createMediaCopies({
    mediaCopies,
    saves: new Map([
      [MODEL.post, store.posts.saveMedia],
      [MODEL.trainingService, store.trainingServices.saveMedia],
    ]),
    transaction: store.transaction,
  });
