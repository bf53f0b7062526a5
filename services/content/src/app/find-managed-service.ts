import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { notFound } from '@fitness/shared/kernel/error.ts';
import { missingPermission } from '@fitness/shared/kernel/missing-permission.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../dependencies.ts';
import { managesService, seesService } from '../domain/access.ts';
import type { TrainingService } from '../domain/training-service.ts';

/** The training service to change. 404 unless the caller may see it, 403 unless they sell or manage it. */
export const createFindManagedService =
  ({ store }: Pick<Dependencies, 'store'>) =>
  async (caller: UserCaller, id: number, session?: ClientSession): Promise<TrainingService> => {
    const service = await store.trainingServices.find(id, session);
    if (service === undefined || !seesService(caller, service)) throw notFound();
    if (!managesService(caller, service))
      throw missingPermission(caller, { permissions: ['training_services.update_any'] });
    return service;
  };
