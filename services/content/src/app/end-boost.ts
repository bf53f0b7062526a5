import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Boost } from '../domain/boost.ts';
import { publishTrainingServiceBoostEnded } from './publish.ts';
import { createUpdateBoost } from './update-boost.ts';

/** Notifies the seller that a boost has ended, unless the training service is deleted. */
export const createEndBoost = (dependencies: Pick<Dependencies, 'store' | 'outbox'>) => {
  const updateBoost = createUpdateBoost(dependencies);
  return async (session: ClientSession, boost: Boost, version: number): Promise<void> => {
    const service = await updateBoost(session, boost, version);
    if (service !== undefined)
      await publishTrainingServiceBoostEnded(dependencies, session, service, boost, version);
  };
};
