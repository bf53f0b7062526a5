import { invalid, message } from '@fitness/shared/error.ts';
import type { MediaRow, Target } from '../domain/media.ts';
import type { MediaStore } from '../store/media.ts';

const MAX_TARGETS = 200;

/** The public rows of many targets in one query. 422 for more than 200 targets. */
export type ListMedia = (targets: readonly Target[]) => Promise<MediaRow[]>;

export const createListMedia =
  (media: MediaStore): ListMedia =>
  async (targets) => {
    if (targets.length > MAX_TARGETS) {
      throw invalid({ targets: message('validation.max_items', { max: MAX_TARGETS }) });
    }
    return media.findPublic(targets);
  };
