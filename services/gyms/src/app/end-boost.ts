import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Boost } from '../domain/boost.ts';
import { publishBoostEnded } from './publish.ts';

/** Records the end of a boost and notifies the owner, unless the gym is deleted. */
export const createEndBoost =
  ({ store, outbox }: Dependencies) =>
  async (session: ClientSession, gymId: number, boost: Boost): Promise<void> => {
    const gym = await store.gyms.saveBoost(session, gymId, boost);
    if (gym !== undefined) await publishBoostEnded(outbox, session, gym, boost);
  };
