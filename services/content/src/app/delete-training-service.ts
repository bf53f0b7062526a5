import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import type { Dependencies } from '../dependencies.ts';
import { createAfterRemoval } from './after-removal.ts';
import { createFindManagedService } from './managed-service.ts';

/** Its trainees stay. 404 unless the caller sees it, 403 unless they sell or manage it. */
export const createDeleteTrainingService = (dependencies: Pick<Dependencies, 'store' | 'outbox'>) => {
  const findManaged = createFindManagedService(dependencies);
  const afterRemoval = createAfterRemoval(dependencies);
  return (caller: UserCaller, id: number): Promise<void> =>
    dependencies.store.transaction(async (session) => {
      await findManaged(caller, id, session);
      const removed = await dependencies.store.trainingServices.remove(session, id);
      await afterRemoval(session, removed === undefined ? [] : [removed]);
    });
};
