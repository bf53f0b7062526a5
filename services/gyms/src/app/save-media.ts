/** The copies of the public files of gyms (docs/adr/0101). */
import { createMediaCopies } from '@fitness/contracts/media-copy.ts';
import { MODEL } from '@fitness/contracts/model-names.ts';
import type { Dependencies } from '../dependencies.ts';

export const createMediaCopyUseCases = ({ store, mediaCopies }: Dependencies) =>
  createMediaCopies({
    mediaCopies,
    saves: new Map([[MODEL.gym, store.gyms.saveMedia]]),
    transaction: store.transaction,
  });
