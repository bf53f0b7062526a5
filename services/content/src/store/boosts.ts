/** The read model of boosts, used only to order the list of training services. */
import { type ClientSession, trusted } from '@fitness/shared/mongo/connect.ts';
import { deleteSome } from '@fitness/shared/mongo/steps.ts';
import { type Boost, NEVER_BOOSTED } from '../domain/boost.ts';
import type { Models } from './models.ts';

export interface Boosts {
  /** Returns false, without a write, if the stored version is not older. */
  saveIfNewer(session: ClientSession, boost: Boost, version: number): Promise<boolean>;
  /** The boost that ends last. A training service has at most one live boost at a time. */
  last(session: ClientSession, trainingServiceId: number): Promise<Pick<Boost, 'level' | 'endsAt'>>;
  /** Deletes at most `limit` boosts of a training service and returns how many. */
  removeOf(session: ClientSession, trainingServiceId: number, limit: number): Promise<number>;
}

export const createBoosts = ({ boosts }: Models): Boosts => ({
  saveIfNewer: async (session, { id, trainingServiceId, level, endsAt }, version) => {
    const existing = await boosts.findById(id).session(session).lean();
    const fields = { training_service_id: trainingServiceId, level, ends_at: endsAt, version };
    if (existing === null) await boosts.create([{ _id: id, ...fields }], { session });
    else if (existing.version >= version) return false;
    else
      await boosts.updateOne({ _id: id, version: trusted({ $lt: version }) }, { $set: fields }, { session });
    return true;
  },
  last: async (session, trainingServiceId) => {
    const all = await boosts.find({ training_service_id: trainingServiceId }).session(session).lean();
    const [last] = all.toSorted((a, b) => b.ends_at.getTime() - a.ends_at.getTime());
    return last === undefined ? NEVER_BOOSTED : { level: last.level, endsAt: last.ends_at };
  },
  removeOf: (session, trainingServiceId, limit) =>
    deleteSome(session, boosts, { training_service_id: trainingServiceId }, limit),
});
