import type { TargetCopy } from '@fitness/contracts/media-copy.ts';
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { forbidden, notFound } from '@fitness/shared/kernel/error.ts';
import type { Dependencies } from '../dependencies.ts';
import { attachableKind } from '../domain/attachable.ts';
import { createDeleteRows, type DeleteRowsDependencies } from './delete-rows.ts';
import { mayEdit } from './may-edit.ts';
import { createCopyMedia, isCopied } from './media-copies.ts';
import { recordAccess } from './record-access.ts';

/**
 * Deletes a file for callers that may edit its target. Throws 404 for an unknown file, and 403 for any other caller. Throws
 * `outcome_unknown` when the file is deleted, but the target's service did not confirm that its lists no longer show it.
 */
export const createDeleteMedia = (
  dependencies: DeleteRowsDependencies & Pick<Dependencies, 'targets' | 'audit' | 'mediaCopies'>,
) => {
  const { store, targets, mediaCopies } = dependencies;
  const deleteRows = createDeleteRows(dependencies);
  const copyMedia = createCopyMedia(dependencies);
  return async (caller: UserCaller, id: number): Promise<void> => {
    const row = await store.media.find(id);
    if (row === undefined) throw notFound();
    const kind = attachableKind(row.attachable_type);
    const target = kind === undefined ? undefined : await targets.find(kind, row.attachable_id);
    // The event of the target's deletion deletes the row.
    if (target === undefined) throw notFound();
    if (!mayEdit(caller, target)) throw forbidden();
    const { ownerId } = target;
    let copy: TargetCopy | undefined;
    await store.attachmentGuards.prepare(row);
    const deleted = await deleteRows(async (session) => {
      const rows = await store.media.delete(session, id);
      for (const gone of rows)
        await recordAccess(dependencies, session, {
          action: 'media.delete',
          callerId: caller.userId,
          ownerId,
          row: gone,
        });
      if (isCopied(row)) {
        await store.attachmentGuards.change(session, row);
        [copy] = await copyMedia([row], session);
      }
      return rows;
    }, caller.userId !== ownerId);
    if (deleted.length === 0) throw notFound();
    if (copy !== undefined) await mediaCopies.save(copy);
  };
};
