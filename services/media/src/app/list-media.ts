import { invalid, message } from '@fitness/shared/kernel/error.ts';
import type { Dependencies } from '../dependencies.ts';
import type { MediaRow, Target } from '../domain/media.ts';

const MAX_TARGETS = 200;

/** The public rows of many targets, in one query. 422 for more than 200 targets. */
export const createListMedia =
  ({ media }: Pick<Dependencies, 'media'>) =>
  async (targets: readonly Target[]): Promise<MediaRow[]> => {
    if (targets.length > MAX_TARGETS) {
      throw invalid({ targets: message('validation.max_items', { max: MAX_TARGETS }) });
    }
    return media.findPublic(targets);
  };
