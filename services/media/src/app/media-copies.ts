/**
 * The public files of targets, as their services store them (docs/adr/0101).
 */
import type { TargetCopy } from '@fitness/contracts/media-copy.ts';
import { assertMaxItems } from '@fitness/shared/kernel/error.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../dependencies.ts';
import { attachableKind, MAX_PUBLIC_FILES, TYPE_BY_KIND } from '../domain/attachable.ts';
import { type MediaRow, type Target, targetKey } from '../domain/media.ts';
import { toTargetFiles } from './media-resource.ts';

const MAX_TARGETS = 50;

/** Whether a change of this row changes a copy. */
export const isCopied = ({
  purpose,
  attachable_type,
}: Pick<MediaRow, 'purpose' | 'attachable_type'>): boolean =>
  purpose === null && attachableKind(attachable_type) !== undefined;

/**
 * Returns the copies of targets. In the transaction of a change, they are its exact result. Without a transaction, the files are at
 * least as new as the version, which is read first. Targets of an unknown type are left out. Throws 422 for more than 50 targets.
 */
export const createCopyMedia =
  ({ store, log }: Pick<Dependencies, 'store' | 'log'>) =>
  async (targets: readonly Target[], session?: ClientSession): Promise<TargetCopy[]> => {
    assertMaxItems('targets', targets, MAX_TARGETS);
    const limited = targets.flatMap(({ attachable_type, attachable_id }) => {
      const kind = attachableKind(attachable_type);
      if (kind === undefined) return [];
      return [{ attachable_type: TYPE_BY_KIND[kind], attachable_id, limit: MAX_PUBLIC_FILES[kind] }];
    });
    const versions = await store.attachmentGuards.versions(limited, session);
    const files = toTargetFiles(await store.media.findPublic(limited, session), log);
    const filesOf = Map.groupBy(files, targetKey);
    return limited.map((target) => ({
      model: target.attachable_type,
      id: target.attachable_id,
      version: versions.get(targetKey(target)) ?? 0,
      files: (filesOf.get(targetKey(target)) ?? []).map(
        ({ attachable_type: _type, attachable_id: _id, ...file }) => file,
      ),
    }));
  };
