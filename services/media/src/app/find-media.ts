import { assertMaxItems } from '@fitness/shared/kernel/error.ts';
import type { Dependencies } from '../dependencies.ts';
import { attachableKind, MAX_PUBLIC_FILES, TYPE_BY_KIND } from '../domain/attachable.ts';
import type { MediaRow, Target } from '../domain/media.ts';

const MAX_TARGETS = 200;

/** The public rows of many targets, of each up to the limit of its kind. 422 for more than 200 targets. */
export const createFindMedia =
  ({ store }: Pick<Dependencies, 'store'>) =>
  async (targets: readonly Target[]): Promise<MediaRow[]> => {
    assertMaxItems('targets', targets, MAX_TARGETS);
    const known = targets.flatMap(({ attachable_type, attachable_id }) => {
      const kind = attachableKind(attachable_type);
      if (kind === undefined) return [];
      return [{ attachable_type: TYPE_BY_KIND[kind], attachable_id, limit: MAX_PUBLIC_FILES[kind] }];
    });
    return store.media.findPublic(known);
  };
