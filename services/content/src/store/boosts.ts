/** The read model of boosts. */
import { type ClientSession, trusted } from '@fitness/shared/mongo/connect.ts';
import { deleteSome } from '@fitness/shared/mongo/steps.ts';
import type { Boost } from '../domain/boost.ts';
import type { BoostDocument } from './models/training-services.ts';
import type { Models } from './models.ts';

export interface Boosts {
  /** Returns false, without a write, if the stored version is not older. */
  saveIfNewer(session: ClientSession, boost: Boost, version: number): Promise<boolean>;
  /** The boost that ends last. A training service has at most one live boost at a time. */
  last(session: ClientSession, trainingServiceId: number): Promise<Boost | undefined>;
  /** Versions by boost, of all boosts of these training services. */
  versions(trainingServiceIds: readonly number[], session?: ClientSession): Promise<Map<number, number>>;
  /**
   * Stores the live boost of a training service that store-billing has named; all others have ended. Versions stay, so that a late
   * event about an older state changes nothing.
   */
  setLive(session: ClientSession, trainingServiceId: number, live: Boost | undefined): Promise<void>;
  /** Deletes at most `limit` boosts of a training service and returns how many. */
  removeOf(session: ClientSession, trainingServiceId: number, limit: number): Promise<number>;
}

const fromDocument = ({
  _id: id,
  training_service_id: trainingServiceId,
  level,
  starts_at: startsAt,
  ends_at: endsAt,
}: BoostDocument): Boost => ({
  ...{ id, trainingServiceId, level, endsAt },
  ...(startsAt && { startsAt }),
});

export const createBoosts = ({ boosts }: Models): Boosts => ({
  saveIfNewer: async (session, { id, trainingServiceId, level, startsAt, endsAt }, version) => {
    const existing = await boosts.findById(id).session(session).lean();
    const times = { ...(startsAt && { starts_at: startsAt }), ends_at: endsAt };
    const fields = { training_service_id: trainingServiceId, level, ...times, version };
    if (existing === null) await boosts.create([{ _id: id, ...fields }], { session });
    else if (existing.version >= version) return false;
    else
      await boosts.updateOne({ _id: id, version: trusted({ $lt: version }) }, { $set: fields }, { session });
    return true;
  },
  last: async (session, trainingServiceId) => {
    const all = await boosts.find({ training_service_id: trainingServiceId }).session(session).lean();
    const [last] = all.toSorted((a, b) => b.ends_at.getTime() - a.ends_at.getTime());
    return last && fromDocument(last);
  },
  versions: async (trainingServiceIds, session) => {
    const rows = await boosts
      .find(
        { training_service_id: trusted({ $in: [...trainingServiceIds] }) },
        { version: 1 },
        session && { session },
      )
      .lean();
    return new Map(rows.map(({ _id, version }) => [_id, version]));
  },
  setLive: async (session, trainingServiceId, live) => {
    const stored = await boosts.find({ training_service_id: trainingServiceId }).session(session).lean();
    const shown = live && { level: live.level, starts_at: live.startsAt, ends_at: live.endsAt };
    for (const { _id } of stored) {
      const fields = (_id === live?.id ? shown : undefined) ?? { ends_at: new Date(0) };
      await boosts.updateOne({ _id }, { $set: fields }, { session });
    }
    if (live === undefined || stored.some(({ _id }) => _id === live.id)) return;
    // Version 0: every event is newer.
    const row = { _id: live.id, training_service_id: trainingServiceId, ...shown, version: 0 };
    await boosts.create([row], { session });
  },
  removeOf: (session, trainingServiceId, limit) =>
    deleteSome(session, boosts, { training_service_id: trainingServiceId }, limit),
});
