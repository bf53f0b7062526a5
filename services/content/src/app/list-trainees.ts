import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import type { PageOf, PageRequest } from '@fitness/shared/kernel/page.ts';
import type { Dependencies } from '../dependencies.ts';
import type { TraineeFilter } from '../store/trainees.ts';
import { type TraineeResource, toTraineeResource } from './trainee-resource.ts';

/** The caller's trainees, as a buyer and as a seller. */
export const createListTrainees =
  ({ store, users }: Dependencies) =>
  async (
    viewer: UserCaller,
    filter: TraineeFilter,
    request: PageRequest,
  ): Promise<{ page: PageOf<unknown>; data: TraineeResource[] }> => {
    const page = await store.trainees.page(filter, request);
    const buyerIds = page.rows.map(({ buyerUserId }) => buyerUserId);
    const buyers = await users.find(buyerIds, viewer, { withErased: true });
    return { page, data: page.rows.map((trainee) => toTraineeResource(trainee, buyers)) };
  };
