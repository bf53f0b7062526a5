import type { Progress } from '@fitness/shared/kernel/progress.mjs';
import { sameWords } from '@fitness/shared/kernel/same-words.ts';
import type { ListCache } from '@fitness/shared/lists/index.ts';
import { createRowTexts, type RowTexts, type Transaction } from '@fitness/shared/lists/texts.ts';
import { type ClientSession, trusted } from '@fitness/shared/mongo/connect.ts';
import type { IsPersonal } from '@fitness/shared/mongo/privacy.ts';
import { type Boost, NEVER_BOOSTED } from '../domain/boost.ts';
import {
  serviceFacets,
  type TrainingService,
  type TrainingServiceFields,
} from '../domain/training-service.ts';
import type { Counters } from './counters.ts';
import { createSaveMedia, type SaveMedia } from './media-copy.ts';
import { isPersonalTrainingServiceField } from './models/training-services.ts';
import type { Models } from './models.ts';
import { fromDocument, TEXTS, toDocumentFields } from './training-service-document.ts';
import { createTrainingServiceLists, type TrainingServiceLists } from './training-service-lists.ts';

export interface TrainingServices extends TrainingServiceLists {
  /** Whether the stored field at this path is personal data. */
  isPersonal: IsPersonal;
  find(id: number, session?: ClientSession): Promise<TrainingService | undefined>;
  /** In the order of `ids`. Unknown training services are left out. */
  findMany(ids: readonly number[]): Promise<TrainingService[]>;
  insert(session: ClientSession, service: TrainingService): Promise<void>;
  update(
    session: ClientSession,
    current: TrainingService,
    fields: TrainingServiceFields,
    now: Date,
  ): Promise<TrainingService>;
  /** Returns the removed training service; undefined if it did not exist. */
  remove(session: ClientSession, id: number): Promise<TrainingService | undefined>;
  /** At most `limit` training services of a user. */
  findOfUser(session: ClientSession, userId: number, limit: number): Promise<TrainingService[]>;
  removeMany(session: ClientSession, ids: readonly number[]): Promise<void>;
  /** Removes some of the grams of training services that are about to be removed. See `Part`. */
  removeTexts(session: ClientSession, ids: readonly number[], limit: number): Promise<number>;
  /** Counts all training services, in the transaction that sets the counters. */
  recount(session: ClientSession): Promise<{ active: number; inactive: number; newest: number }>;
  /** Undefined for a training service that was never boosted. */
  setBoost(session: ClientSession, id: number, boost: Boost | undefined): Promise<void>;
  saveMedia: SaveMedia;
  /** Corrects the facets and grams of every row, and returns how many were wrong. Reads the whole collection. */
  reindex(progress: Progress): Promise<number>;
  allIds(): Promise<number[]>;
}

type Writes = 'insert' | 'update' | 'remove' | 'removeMany' | 'removeTexts';

/** The grams of a row are written with it. */
const createWrites = (
  trainingServices: Models['trainingServices'],
  texts: RowTexts,
): Pick<TrainingServices, Writes> => ({
  insert: async (session, service) => {
    const document = {
      _id: service.id,
      user_id: service.user_id,
      ...toDocumentFields(service.user_id, service),
      boosted_until: service.boosted_until,
      boost_level: NEVER_BOOSTED.level,
      boost: service.boost,
      created_at: service.created_at,
      updated_at: service.updated_at,
      version: service.version,
      media: service.media,
    };
    await trainingServices.create([document], { session });
    await texts.add(session, service.id, service);
  },
  update: async (session, current, fields, now) => {
    const { id, user_id: userId } = current;
    const written = await trainingServices
      .findOneAndUpdate(
        { _id: id },
        { $set: { ...toDocumentFields(userId, fields), updated_at: now }, $inc: { version: 1 } },
        { session, returnDocument: 'after' },
      )
      .lean();
    if (written === null) throw new Error(`Training service ${id} was deleted within the transaction`);
    if (current.title !== fields.title || current.description !== fields.description) {
      await texts.remove(session, [id]);
      await texts.add(session, id, fields);
    }
    return fromDocument(written);
  },
  remove: async (session, id) => {
    const removed = await trainingServices.findOneAndDelete({ _id: id }, { session }).lean();
    await texts.remove(session, [id]);
    return removed === null ? undefined : fromDocument(removed);
  },
  removeMany: async (session, ids) => {
    await trainingServices.deleteMany({ _id: trusted({ $in: [...ids] }) }, { session });
  },
  removeTexts: texts.removeSome,
});

export const createTrainingServices = (
  models: Models,
  counters: Pick<Counters, 'incrementServices'>,
  transaction: Transaction,
  cache: ListCache | undefined,
): TrainingServices => {
  const { trainingServices, trainingServiceTexts } = models;
  const texts = createRowTexts(trainingServiceTexts, trainingServices.collection, TEXTS, transaction);

  const recordChange = (session: ClientSession, id: number): Promise<void> =>
    counters.incrementServices(session, {}, { shardKey: id, changed: [id] });

  return {
    isPersonal: isPersonalTrainingServiceField,
    find: async (id, session) => {
      const document = await trainingServices.findById(id, { facets: 0 }, session && { session }).lean();
      return document === null ? undefined : fromDocument(document);
    },
    findMany: async (ids) => {
      if (ids.length === 0) return [];
      const rows = await trainingServices.find({ _id: trusted({ $in: [...ids] }) }, { facets: 0 }).lean();
      const byId = new Map(rows.map((row) => [row._id, fromDocument(row)]));
      return ids.map((id) => byId.get(id)).filter((service) => service !== undefined);
    },
    ...createWrites(trainingServices, texts),
    findOfUser: async (session, userId, limit) => {
      const rows = trainingServices.find({ user_id: userId }, { facets: 0 }, { session, limit }).lean();
      return (await rows).map(fromDocument);
    },
    ...createTrainingServiceLists(models, texts, cache),
    recount: async (session) => {
      const [groups] = await trainingServices
        .aggregate<{ active: number; inactive: number; newest: number }>([
          {
            $group: {
              _id: null,
              active: { $sum: { $cond: ['$is_active', 1, 0] } },
              inactive: { $sum: { $cond: ['$is_active', 0, 1] } },
              newest: { $max: '$_id' },
            },
          },
        ])
        .session(session);
      return { active: 0, inactive: 0, newest: 0, ...groups };
    },
    saveMedia: createSaveMedia(trainingServices, recordChange),
    setBoost: async (session, id, boost) => {
      const { level, endsAt } = boost ?? NEVER_BOOSTED;
      const { trainingServiceId: _id, ...copy } = boost ?? {};
      const state = { boosted_until: endsAt, boost_level: level, boost: boost ? copy : null };
      await trainingServices.updateOne({ _id: id }, { $set: state }, { session });
      await recordChange(session, id);
    },
    reindex: async (progress) => {
      let changed = 0;
      for await (const row of trainingServices.find({}).lean().cursor()) {
        const { _id, version } = row;
        const facets = serviceFacets(row);
        if (sameWords(row.facets, facets)) continue;
        // A row that changed in the meantime has correct facets.
        changed += (await trainingServices.updateOne({ _id, version }, { $set: { facets } })).modifiedCount;
      }
      return changed + (await texts.reindex(progress));
    },
    allIds: async () => (await trainingServices.find({}, { _id: 1 }).lean()).map(({ _id }) => _id),
  };
};
