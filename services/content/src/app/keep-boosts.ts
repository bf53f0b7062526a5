/** How long each training service is boosted, for the order of the list; the resource's boost is asked for. */
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { BoostFact } from '../store/boosts.ts';
import type { Parts } from './parts.ts';

export type KeepBoost = (session: ClientSession, boost: BoostFact, version: number) => Promise<void>;

export const keepBoost =
  ({ store }: Pick<Parts, 'store'>): KeepBoost =>
  async (session, boost, version) => {
    if (!(await store.boosts.keep(session, boost, version))) return;
    const until = await store.boosts.lastEnd(session, boost.trainingServiceId);
    await store.trainingServices.setBoostedUntil(session, boost.trainingServiceId, until);
  };
