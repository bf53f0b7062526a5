import { NO_MEDIA } from '@fitness/contracts/media-copy.ts';
import type { PageOf, PageRequest } from '@fitness/shared/kernel/page.ts';
import type { Progress } from '@fitness/shared/kernel/progress.mjs';
import { sameWords } from '@fitness/shared/kernel/same-words.ts';
import { createLists, type ListCache } from '@fitness/shared/lists/index.ts';
import { type ListQuery, type ListRow, matchStages, type RowCondition } from '@fitness/shared/lists/list.ts';
import { searchIn } from '@fitness/shared/lists/match.ts';
import { readRankedPage } from '@fitness/shared/lists/pages.ts';
import { createRowTexts, type Transaction } from '@fitness/shared/lists/texts.ts';
import type { ListVersions } from '@fitness/shared/lists/versions.ts';
import { type ClientSession, trusted } from '@fitness/shared/mongo/connect.ts';
import type { IsPersonal } from '@fitness/shared/mongo/privacy.ts';
import { type Boost, NEVER_BOOSTED } from '../domain/boost.ts';
import {
  pickTrainingServiceFields,
  serviceFacets,
  type TrainingService,
  type TrainingServiceFields,
} from '../domain/training-service.ts';
import type { Counters } from './counters.ts';
import { createSaveMedia, type SaveMedia } from './media-copy.ts';
import { isPersonalTrainingServiceField, type Models, type TrainingServiceDocument } from './models.ts';

/** The filters of a list that have no facet. */
export interface ServiceFilter {
  minPrice?: number | undefined;
  maxPrice?: number | undefined;
}

interface ServiceList extends ServiceFilter, Pick<ListQuery, 'newest' | 'versions'> {
  search?: string | undefined;
  /** No training service has more than one of these. */
  facets: readonly string[];
  /** The number of rows that pass the filter. */
  total: number;
}

export interface TrainingServices {
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
  /** Boosted rows first, by level, then the newest. `total` is undefined if a search has too many matches to count. */
  page(list: ServiceList, now: Date, request: PageRequest): Promise<PageOf<TrainingService>>;
  /** The number of rows of a facet that pass the filter, counted by the database. */
  count(facet: string, filter: ServiceFilter): Promise<number>;
  /** The number of rows in a short list. */
  countIn(facet: string, versions: ListVersions): Promise<number>;
  /** Counts all training services, in the transaction that sets the counters. */
  recount(session: ClientSession): Promise<{ active: number; inactive: number; newest: number }>;
  setBoost(session: ClientSession, id: number, boost: Pick<Boost, 'level' | 'endsAt'>): Promise<void>;
  saveMedia: SaveMedia;
  /** Corrects the facets and grams of every row, and returns how many were wrong. Reads the whole collection. */
  reindex(progress: Progress): Promise<number>;
  allIds(): Promise<number[]>;
}

const TEXTS = ['title', 'description'] as const;

const fromDocument = (document: Omit<TrainingServiceDocument, 'facets'>): TrainingService => ({
  id: document._id,
  user_id: document.user_id,
  ...pickTrainingServiceFields(document),
  created_at: document.created_at,
  updated_at: document.updated_at,
  version: document.version,
  boosted_until: document.boosted_until,
  media: document.media ?? NO_MEDIA,
});

/** The declared fields, and the fields derived from them. */
const toDocumentFields = (userId: number, fields: TrainingServiceFields) => ({
  ...pickTrainingServiceFields(fields),
  facets: serviceFacets({ user_id: userId, is_active: fields.is_active }),
});

/** The fields that have a value; undefined if none has one. */
const withValues = <Value>(fields: Record<string, Value | undefined>): Record<string, Value> | undefined => {
  const entries = Object.entries(fields).filter((entry): entry is [string, Value] => entry[1] !== undefined);
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
};

const conditionOf = ({ minPrice, maxPrice }: ServiceFilter): RowCondition | undefined =>
  withValues({ price: withValues({ $gte: minPrice, $lte: maxPrice }) });

const toService = (stored: ListRow): TrainingService =>
  fromDocument(stored as unknown as TrainingServiceDocument);

export const createTrainingServices = (
  { trainingServices, trainingServiceTexts }: Models,
  counters: Pick<Counters, 'incrementServices'>,
  transaction: Transaction,
  cache: ListCache | undefined,
): TrainingServices => {
  const { collection } = trainingServices;
  const texts = createRowTexts(trainingServiceTexts, collection, TEXTS, transaction);
  const lists = createLists(collection, {
    keysOnly: ['facets'],
    grams: texts.grams,
    texts: TEXTS,
    cache,
  });

  const recordChange = (session: ClientSession, id: number): Promise<void> =>
    counters.incrementServices(session, {}, { shardKey: id, changed: [id] });

  const findMany = async (ids: readonly number[]): Promise<TrainingService[]> => {
    if (ids.length === 0) return [];
    const rows = await trainingServices.find({ _id: trusted({ $in: [...ids] }) }, { facets: 0 }).lean();
    const byId = new Map(rows.map((row) => [row._id, fromDocument(row)]));
    return ids.map((id) => byId.get(id)).filter((service) => service !== undefined);
  };

  const page: TrainingServices['page'] = async ({ facets, search, ...list }, now, request) => {
    const { total } = list;
    const condition = conditionOf(list);
    const keys = facets.map((one) => ({ facets: one }));
    const query = { ...list, keys, search: searchIn(TEXTS, search), condition };
    const ranked = await lists.ranked({ boosted_until: { $gt: now } }, query);
    const boosted = ranked.filter((row) => (row.boosted_until as Date) > now);
    const without = boosted.map(({ _id }) => _id);
    const services = new Map(boosted.map((row) => [row._id, toService(row)]));
    return readRankedPage(
      {
        // Rows that an older release stored have no level.
        ranked: boosted.map((row) => ({ id: row._id, rank: Number(row.boost_level ?? 1) })),
        findMany: async (ids) => ids.flatMap((id) => services.get(id) ?? []),
        readRest: async (slice) => {
          const rest = await lists.read({ ...query, without }, slice);
          return { ...rest, rows: rest.rows.map(toService) };
        },
        total,
        search,
      },
      request,
    );
  };

  return {
    isPersonal: isPersonalTrainingServiceField,
    find: async (id, session) => {
      const document = await trainingServices
        .findById(id, { facets: 0 })
        .session(session ?? null)
        .lean();
      return document === null ? undefined : fromDocument(document);
    },
    findMany,
    insert: async (session, service) => {
      const document = {
        _id: service.id,
        user_id: service.user_id,
        ...toDocumentFields(service.user_id, service),
        boosted_until: service.boosted_until,
        boost_level: NEVER_BOOSTED.level,
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
    findOfUser: async (session, userId, limit) => {
      const rows = trainingServices.find({ user_id: userId }, { facets: 0 }, { session, limit }).lean();
      return (await rows).map(fromDocument);
    },
    removeMany: async (session, ids) => {
      await trainingServices.deleteMany({ _id: trusted({ $in: [...ids] }) }, { session });
    },
    removeTexts: texts.removeSome,
    countIn: (facets, versions) => lists.count({ facets }, versions),
    page,
    count: async (facet, filter) => {
      const stages = matchStages({ facets: facet }, conditionOf(filter));
      const [counted] = await trainingServices.aggregate<{ total: number }>([...stages, { $count: 'total' }]);
      return counted?.total ?? 0;
    },
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
    setBoost: async (session, id, { level, endsAt }) => {
      const boost = { boosted_until: endsAt, boost_level: level };
      await trainingServices.updateOne({ _id: id }, { $set: boost }, { session });
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
