/** Boosts of training services, as store-billing tells them, for the order of the list alone. */
import { type ClientSession, trusted } from '@fitness/shared/mongo/connect.ts';
import type { Models } from './models.ts';

export interface BoostFact {
  id: number;
  trainingServiceId: number;
  endsAt: Date;
}

export interface Boosts {
  /** Keeps the newest of what was told; false when something newer was known. */
  keep(session: ClientSession, boost: BoostFact, version: number): Promise<boolean>;
  /** When the last boost of a training service ends; the epoch when it has none. */
  lastEnd(session: ClientSession, trainingServiceId: number): Promise<Date>;
  removeOf(session: ClientSession, trainingServiceId: number): Promise<void>;
}

export const createBoosts = ({ boosts }: Models): Boosts => ({
  keep: async (session, { id, trainingServiceId, endsAt }, version) => {
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
