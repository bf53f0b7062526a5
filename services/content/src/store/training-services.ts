import { NO_MEDIA } from '@fitness/contracts/media-copy.ts';
import type { PageOf, PageRequest } from '@fitness/shared/kernel/page.ts';
import type { Progress } from '@fitness/shared/kernel/progress.mjs';
import { sameWords } from '@fitness/shared/kernel/same-words.ts';
import { documentGrams } from '@fitness/shared/kernel/text-search.ts';
import { type ClientSession, trusted } from '@fitness/shared/mongo/connect.ts';
import { createKeptLists } from '@fitness/shared/mongo/kept-lists.ts';
import type { ListRow } from '@fitness/shared/mongo/list-reader.ts';
import type { ListVersions } from '@fitness/shared/mongo/list-versions.ts';
import type { IsPersonal } from '@fitness/shared/mongo/privacy.ts';
import { type Boost, NEVER_BOOSTED } from '../domain/boost.ts';
import {
  pickTrainingServiceFields,
  serviceFacets,
  type TrainingService,
  type TrainingServiceFields,
} from '../domain/training-service.ts';
import type { Counters } from './counters.ts';
import { inFacets, isInFacets } from './facets.ts';
import { createSaveMedia, type SaveMedia } from './media-copy.ts';
import { isPersonalTrainingServiceField, type Models, type TrainingServiceDocument } from './models.ts';

export interface ServiceFilter {
  /** No row is in two of these lists. */
  facets: readonly string[];
  minPrice?: number | undefined;
  maxPrice?: number | undefined;
  search?: string | undefined;
}

interface ServicePageRequest {
  filter: ServiceFilter;
  /** How many rows match the filter without its text. */
  total: number;
  /** The largest id. */
  newest: number;
  /** Those that were read with the total. */
  versions: ListVersions;
  now: Date;
  request: PageRequest;
}

export interface TrainingServices {
  /** By the path of a stored field. */
  isPersonal: IsPersonal;
  find(id: number, session?: ClientSession): Promise<TrainingService | undefined>;
  /** In the order of `ids`; unknown ones are missing. */
  findMany(ids: readonly number[]): Promise<TrainingService[]>;
  insert(session: ClientSession, service: TrainingService): Promise<void>;
  update(
    session: ClientSession,
    current: TrainingService,
    fields: TrainingServiceFields,
    now: Date,
  ): Promise<TrainingService>;
  /** The removed one; undefined when it did not exist. */
  remove(session: ClientSession, id: number): Promise<TrainingService | undefined>;
  /** Removes at most `limit` of a user and returns them. */
  removeOfUser(session: ClientSession, userId: number, limit: number): Promise<TrainingService[]>;
  /**
   * Boosted ones first, by level, then the newest; `total` is undefined for a text with too many matches to count.
   */
  page(pageRequest: ServicePageRequest): Promise<PageOf<TrainingService>>;
  /** How many rows match the filter without its text, read from the database. */
  count(filter: ServiceFilter): Promise<number>;
  /** How many rows a short list has. */
  countIn(facet: string, versions: ListVersions): Promise<number>;
  /** Counts all of them; in the transaction that sets the counters. */
  recount(session: ClientSession): Promise<{ active: number; inactive: number; newest: number }>;
  setBoost(session: ClientSession, id: number, boost: Pick<Boost, 'level' | 'endsAt'>): Promise<void>;
  saveMedia: SaveMedia;
  /** Corrects the facets and grams of every row, and returns how many had others; reads the whole collection. */
  reindex(progress: Progress): Promise<number>;
  allIds(): Promise<number[]>;
}

const TEXTS = ['title', 'description'] as const;

const fromDocument = (found: Omit<TrainingServiceDocument, 'facets' | 'grams'>): TrainingService => ({
  id: found._id,
  user_id: found.user_id,
  ...pickTrainingServiceFields(found),
  created_at: found.created_at,
  updated_at: found.updated_at,
  version: found.version,
  boosted_until: found.boosted_until,
  media: found.media ?? NO_MEDIA,
});

/** The declared fields, and what follows from them. */
const toDocumentFields = (userId: number, fields: TrainingServiceFields) => ({
  ...pickTrainingServiceFields(fields),
  facets: serviceFacets({ user_id: userId, is_active: fields.is_active }),
  grams: documentGrams([fields.title, fields.description]),
});

const priceRange = ({ minPrice, maxPrice }: ServiceFilter): Record<string, unknown> | undefined => {
  if (minPrice === undefined && maxPrice === undefined) return undefined;
  return {
    price: {
      ...(minPrice === undefined ? {} : { $gte: minPrice }),
      ...(maxPrice === undefined ? {} : { $lte: maxPrice }),
    },
  };
};

const isInPriceRange = ({ minPrice = 0, maxPrice = Number.POSITIVE_INFINITY }: ServiceFilter, row: ListRow) =>
  Number(row.price) >= minPrice && Number(row.price) <= maxPrice;

export const createTrainingServices = (
  { trainingServices }: Models,
  counters: Pick<Counters, 'changesSince' | 'incrementServices'>,
): TrainingServices => {
  const { collection } = trainingServices;
  const lists = createKeptLists(collection, {
    texts: TEXTS,
    accepted: ['facets', 'price', 'boosted_until'],
    conditionOf: (facet) => ({ facets: facet }),
    facetsOf: ({ facets }) => facets as string[],
    faceted: ['facets'],
    changesSince: counters.changesSince,
    toRow: (stored) => fromDocument(stored as unknown as TrainingServiceDocument),
    ranking: { until: 'boosted_until', rank: 'boost_level' },
  });

  const recordChange = (session: ClientSession, id: number): Promise<void> =>
    counters.incrementServices(session, {}, { shardKey: id, changed: [id] });

  const findMany = async (ids: readonly number[]): Promise<TrainingService[]> => {
    if (ids.length === 0) return [];
    const found = await trainingServices
      .find({ _id: trusted({ $in: [...ids] }) }, { facets: 0, grams: 0 })
      .lean();
    const byId = new Map(found.map((row) => [row._id, fromDocument(row)]));
    return ids.map((id) => byId.get(id)).filter((service) => service !== undefined);
  };

  const page = async (pageRequest: ServicePageRequest): Promise<PageOf<TrainingService>> => {
    const { filter, total, newest, versions, now, request } = pageRequest;
    const { facets, search } = filter;
    const words = new Set(facets);
    await lists.catchUp(versions);
    const price = priceRange(filter);
    const accept = (row: ListRow) => isInFacets(row, words) && isInPriceRange(filter, row);
    return lists.rankedPage(
      {
        ...{ versions, now, accept, total, search },
        readRest: (slice, ranked, isRanked) => {
          const more = {
            accept: (row: ListRow) => isInPriceRange(filter, row) && !isRanked(row),
            indexed: price,
          };
          const query = inFacets({ facets, total, newest, search }, more);
          const whole = price === undefined ? { facets, total, versions } : undefined;
          return lists.read({ ...query, lists: whole }, slice, ranked);
        },
      },
      request,
    );
  };

  return {
    isPersonal: isPersonalTrainingServiceField,
    find: async (id, session) => {
      const found = await trainingServices
        .findById(id, { facets: 0, grams: 0 })
        .session(session ?? null)
        .lean();
      return found === null ? undefined : fromDocument(found);
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
    },
    update: async (session, { id, user_id: userId }, fields, now) => {
      const written = await trainingServices
        .findOneAndUpdate(
          { _id: id },
          { $set: { ...toDocumentFields(userId, fields), updated_at: now }, $inc: { version: 1 } },
          { session, returnDocument: 'after' },
        )
        .lean();
      if (written === null) throw new Error(`Training service ${id} was deleted within the transaction`);
      return fromDocument(written);
    },
    remove: async (session, id) => {
      const removed = await trainingServices.findOneAndDelete({ _id: id }, { session }).lean();
      return removed === null ? undefined : fromDocument(removed);
    },
    removeOfUser: async (session, userId, limit) => {
      const found = await trainingServices
        .find({ user_id: userId }, { facets: 0, grams: 0 })
        .limit(limit)
        .session(session)
        .lean();
      if (found.length > 0)
        await trainingServices.deleteMany(
          { _id: trusted({ $in: found.map(({ _id }) => _id) }) },
          { session },
        );
      return found.map(fromDocument);
    },
    countIn: lists.count,
    page,
    count: async (filter) => {
      const price = priceRange(filter);
      let total = 0;
      for (const facet of filter.facets)
        total += await collection.countDocuments({ facets: facet, ...price } as never);
      return total;
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
      for await (const found of trainingServices.find({}).lean().cursor()) {
        progress.advance('words of training services');
        const { _id, version } = found;
        const facets = serviceFacets(found);
        const grams = documentGrams([found.title, found.description]);
        if (sameWords(found.facets, facets) && sameWords(found.grams, grams)) continue;
        // A row that changed in the meantime has correct ones.
        const set = { $set: { facets, grams } };
        changed += (await trainingServices.updateOne({ _id, version }, set)).modifiedCount;
      }
      return changed;
    },
    allIds: async () => (await trainingServices.find({}, { _id: 1 }).lean()).map(({ _id }) => _id),
  };
};
