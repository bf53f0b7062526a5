import { assertMaxItems } from '@fitness/shared/kernel/error.ts';
import type { Dependencies } from '../dependencies.ts';
import type { MediaRow, Target } from '../domain/media.ts';

const MAX_TARGETS = 200;

/** The public rows of many targets, in one query. 422 for more than 200 targets. */
export const createFindMedia =
  ({ store }: Pick<Dependencies, 'store'>) =>
  async (targets: readonly Target[]): Promise<MediaRow[]> => {
    assertMaxItems('targets', targets, MAX_TARGETS);
    return store.media.findPublic(targets);
  };
