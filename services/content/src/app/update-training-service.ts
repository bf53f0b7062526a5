import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { notFound } from '@fitness/shared/kernel/error.ts';
import type { Dependencies } from '../dependencies.ts';
import { applyChange, type Change, isEmptyChange } from '../domain/change.ts';
import { activityOf, type TrainingServiceFields } from '../domain/training-service.ts';
import { createFindManagedService } from './find-managed-service.ts';
import { publishTrainingServiceChanged } from './publish.ts';
import { recordTrainingServiceChange } from './record-change.ts';
import {
  createFetchEmbedded,
  createFetchSeller,
  type TrainingServiceResource,
  toTrainingServiceResource,
} from './training-service-resource.ts';

/** 404 unless the caller may see the training service, 403 unless they sell or manage it. */
export const createUpdateTrainingService = (
  dependencies: Pick<Dependencies, 'store' | 'outbox' | 'clock' | 'users' | 'baseUrl' | 'boosts' | 'audit'>,
) => {
  const { store, clock } = dependencies;
  const findManaged = createFindManagedService(dependencies);
  const fetchEmbedded = createFetchEmbedded(dependencies);
  const fetchSeller = createFetchSeller(dependencies);
  return async (
    caller: UserCaller,
    id: number,
    change: Change<TrainingServiceFields>,
  ): Promise<TrainingServiceResource> => {
    const service = await findManaged(caller, id);
    const [user, embedded] = await Promise.all([
      fetchSeller(service.user_id, caller),
      fetchEmbedded([service]),
    ]);
    if (user === undefined) throw notFound();
    const updated = await store.transaction(async (session) => {
      const current = await findManaged(caller, id, session);
      if (isEmptyChange(change)) return current;
      const fields = applyChange<TrainingServiceFields>(current, change);
      const changed = await store.trainingServices.update(session, current, fields, clock.now());
      const [from, to] = [activityOf(current), activityOf(changed)];
      const deltas = from === to ? {} : { [from]: -1, [to]: 1 };
      await store.counters.incrementServices(session, deltas, { shardKey: id, changed: [id] });
      await publishTrainingServiceChanged(dependencies, session, changed);
      await recordTrainingServiceChange(dependencies, session, caller, { before: current, after: changed });
      return changed;
    });
    return toTrainingServiceResource(updated, user, embedded);
  };
};
