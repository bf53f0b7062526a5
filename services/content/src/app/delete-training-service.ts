import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import type { Dependencies } from '../dependencies.ts';
import { createFindManagedService } from './find-managed-service.ts';
import { recordTrainingServiceChange } from './record-change.ts';
import { createDeleteBoosts, createRecordRemoval } from './record-removal.ts';

/** Trainees are kept. 404 unless the caller may see the training service, 403 unless they sell or manage it. */
export const createDeleteTrainingService = (
  dependencies: Pick<Dependencies, 'store' | 'outbox' | 'audit'>,
) => {
  const findManaged = createFindManagedService(dependencies);
  const recordRemoval = createRecordRemoval(dependencies);
  const deleteBoosts = createDeleteBoosts(dependencies);
  return (caller: UserCaller, id: number): Promise<void> =>
    dependencies.store.transaction(async (session) => {
      await findManaged(caller, id, session);
      const removed = await dependencies.store.trainingServices.remove(session, id);
      await recordRemoval(session, removed === undefined ? [] : [removed]);
      if (removed === undefined) return;
      await deleteBoosts(session, id);
      await recordTrainingServiceChange(dependencies, session, caller, { before: removed, after: null });
    });
};
