import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { forbidden, notFound } from '@fitness/shared/kernel/error.ts';
import type { Dependencies } from '../dependencies.ts';
import { attachableKind } from '../domain/attachable.ts';
import { createDeleteRows, type DeleteRowsDependencies } from './delete-rows.ts';
import { mayEdit } from './may-edit.ts';
import { recordAccess } from './record-access.ts';

/** For callers that may edit the target. Throws 404 for an unknown file, 403 for any other caller. */
export const createDeleteMedia = (
  dependencies: DeleteRowsDependencies & Pick<Dependencies, 'targets' | 'audit'>,
) => {
  const { store, targets } = dependencies;
  const deleteRows = createDeleteRows(dependencies);
  return async (caller: UserCaller, id: number): Promise<void> => {
    const row = await store.media.find(id);
    if (row === undefined) throw notFound();
    const kind = attachableKind(row.attachable_type);
    const target = kind === undefined ? undefined : await targets.find(kind, row.attachable_id);
    // The event of the target's deletion deletes the row.
    if (target === undefined) throw notFound();
    if (!mayEdit(caller, target)) throw forbidden();
    const { ownerId } = target;
    const deleted = await deleteRows(async (session) => {
      const rows = await store.media.delete(session, id);
      for (const gone of rows)
        await recordAccess(dependencies, session, {
          action: 'media.delete',
          callerId: caller.userId,
          ownerId,
          row: gone,
        });
      return rows;
    }, caller.userId !== ownerId);
    if (deleted.length === 0) throw notFound();
  };
};
