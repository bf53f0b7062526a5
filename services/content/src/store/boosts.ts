/** The read model of boosts, for the order of the list of training services only. */
import { type ClientSession, trusted } from '@fitness/shared/mongo/connect.ts';
import type { Models } from './models.ts';

export interface Boost {
  id: number;
  trainingServiceId: number;
  endsAt: Date;
}

export interface Boosts {
  /** False, without a write, when the stored version is not older. */
  saveIfNewer(session: ClientSession, boost: Boost, version: number): Promise<boolean>;
  /** When the last boost of a training service ends; the epoch when it has none. */
  lastEnd(session: ClientSession, trainingServiceId: number): Promise<Date>;
  removeOf(session: ClientSession, trainingServiceId: number): Promise<void>;
}

export const createBoosts = ({ boosts }: Models): Boosts => ({
  saveIfNewer: async (session, { id, trainingServiceId, endsAt }, version) => {
    const known = await boosts.findById(id).session(session).lean();
    const fields = { training_service_id: trainingServiceId, ends_at: endsAt, version };
    if (known === null) await boosts.create([{ _id: id, ...fields }], { session });
    else if (known.version >= version) return false;
    else
      await boosts.updateOne({ _id: id, version: trusted({ $lt: version }) }, { $set: fields }, { session });
    return true;
  },
  lastEnd: async (session, trainingServiceId) => {
    const all = await boosts.find({ training_service_id: trainingServiceId }).session(session).lean();
    return new Date(Math.max(0, ...all.map(({ ends_at }) => ends_at.getTime())));
  },
  removeOf: async (session, trainingServiceId) => {
    await boosts.deleteMany({ training_service_id: trainingServiceId }, { session });
  },
});
