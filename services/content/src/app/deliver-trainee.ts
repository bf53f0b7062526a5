import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { forbidden, notFound } from '@fitness/shared/kernel/error.ts';
import type { Dependencies } from '../dependencies.ts';
import { isPaid } from '../domain/trainee.ts';
import { publishTraineeDelivered } from './publish.ts';
import { type TraineeResource, toTraineeResource } from './trainee-resource.ts';

/**
 * 404 unless the caller is the buyer or seller of a paid trainee, 403 for the buyer. A repeat changes nothing and returns
 * the delivered trainee, because the client may have lost the first response.
 */
export const createDeliverTrainee = (
  dependencies: Pick<Dependencies, 'store' | 'users' | 'outbox' | 'clock'>,
) => {
  const { store, users, clock } = dependencies;
  return async (caller: UserCaller, id: number): Promise<TraineeResource> => {
    const trainee = await store.trainees.find(id);
    const isSeller = trainee?.sellerUserId === caller.userId;
    const isBuyer = trainee?.buyerUserId === caller.userId;
    if (trainee === undefined || !isPaid(trainee) || !(isSeller || isBuyer)) throw notFound();
    if (!isSeller) throw forbidden(`trainee ${id} is delivered by its seller`);
    // Fetched before the write, so a completed delivery never returns 503.
    const buyers = await users.find([trainee.buyerUserId], caller, { withErased: true });
    return store.transaction(async (session) => {
      const delivered = await store.trainees.deliver(session, id, clock.now());
      if (delivered === undefined) {
        const before = await store.trainees.find(id, session);
        if (before === undefined) throw notFound();
        return toTraineeResource(before, buyers);
      }
      await publishTraineeDelivered(dependencies, session, delivered);
      return toTraineeResource(delivered, buyers);
    });
  };
};
