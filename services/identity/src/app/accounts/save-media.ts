/** The copies of the public files of users (docs/adr/0101). */
import { createMediaCopies } from '@fitness/contracts/media-copy.ts';
import { MODEL } from '@fitness/contracts/model-names.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../../dependencies.ts';

export const createMediaCopyUseCases = ({
  store,
  mediaCopies,
}: Pick<Dependencies, 'store' | 'mediaCopies'>) =>
  createMediaCopies<ClientSession | undefined>({
    mediaCopies,
    saves: new Map([[MODEL.user, store.users.saveMedia]]),
    // A single write needs no transaction.
    transaction: (save) => save(undefined),
  });
