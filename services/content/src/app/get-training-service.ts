import { type Caller, can } from '@fitness/shared/kernel/caller.ts';
import { notFound } from '@fitness/shared/kernel/error.ts';
import type { Dependencies } from '../dependencies.ts';
import { seesService, sells } from '../domain/access.ts';
import {
  createFetchEmbedded,
  createFetchSeller,
  type TrainingServiceResource,
  toTrainingServiceResource,
} from './training-service-resource.ts';

/** 404 if the viewer may not see it: it is inactive, or the deletion of its seller’s account is scheduled. */
export const createGetTrainingService = (
  dependencies: Pick<Dependencies, 'store' | 'users' | 'baseUrl' | 'boosts' | 'clock'>,
) => {
  const { store, users } = dependencies;
  const fetchEmbedded = createFetchEmbedded(dependencies);
  const fetchSeller = createFetchSeller(dependencies);
  return async (viewer: Caller, id: number): Promise<TrainingServiceResource> => {
    const service = await store.trainingServices.find(id);
    if (service === undefined || !seesService(viewer, service)) throw notFound();
    const sellerId = service.user_id;
    const seesHidden = sells(viewer, service) || can(viewer, 'users.view_all');
    const [hidden, user, embedded] = await Promise.all([
      seesHidden ? undefined : users.hidden([sellerId]),
      fetchSeller(sellerId, viewer),
      fetchEmbedded([service]),
    ]);
    if (user === undefined || hidden?.has(sellerId)) throw notFound();
    return toTrainingServiceResource(service, user, embedded);
  };
};
