import type { PageOf, PageRequest } from '@fitness/shared/kernel/page.ts';
import { hasSearchTerms } from '@fitness/shared/kernel/text-search.ts';
import { type ClientSession, trusted } from '@fitness/shared/mongo/connect.ts';
import { containsText } from '@fitness/shared/mongo/gram-shares.ts';
import {
  createListReader,
  type Listed,
  type ListRow,
  type Slice,
} from '@fitness/shared/mongo/list-reader.ts';
import {
  pickTrainingServiceFields,
  serviceFacets,
  type TrainingService,
  type TrainingServiceFields,
} from '../domain/training-service.ts';
import { inFacets, isInFacets } from './facets.ts';
import { gramsOf, sameWords } from './grams.ts';
import type { Models, TrainingServiceDocument } from './models.ts';

export interface ServiceFilter {
  /** No row is in two of these lists. */
  facets: readonly string[];
  minPrice?: number | undefined;
  maxPrice?: number | undefined;
  search?: string | undefined;
}

interface ServicePageRequest {
  filter: ServiceFilter;
  /** How many rows match the filter without its text; an estimate is enough. */
  total: number;
  /** The largest id. */
  newest: number;
  now: Date;
  request: PageRequest;
}

export interface TrainingServices {
  find(id: number, session?: ClientSession): Promise<TrainingService | undefined>;
  /** In the order of `ids`; unknown ones are missing. */
  findMany(ids: readonly number[]): Promise<TrainingService[]>;
  insert(session: ClientSession, service: TrainingService): Promise<void>;
  write(
    session: ClientSession,
    current: TrainingService,
    fields: TrainingServiceFields,
    now: Date,
  ): Promise<TrainingService>;
  /** The removed one; undefined when it did not exist. */
  remove(session: ClientSession, id: number): Promise<TrainingService | undefined>;
  idsOfUser(session: ClientSession, userId: number): Promise<number[]>;
  /** Boosted ones first, then the newest; `total` is undefined for a text with too many matches to count. */
  page(pageRequest: ServicePageRequest): Promise<PageOf<TrainingService>>;
  /** How many rows match the filter without its text. */
  count(filter: ServiceFilter): Promise<number>;
  /** Counts all of them; in the transaction that sets the counters. */
  recount(session: ClientSession): Promise<{ active: number; inactive: number; newest: number }>;
  setBoostedUntil(session: ClientSession, id: number, until: Date): Promise<void>;
  /** Corrects the facets and grams of every row; reads the whole collection. */
  reindex(): Promise<void>;
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
});

/** The declared fields, and what follows from them. */
const toDocumentFields = (userId: number, fields: TrainingServiceFields) => ({
  ...pickTrainingServiceFields(fields),
  facets: serviceFacets({ user_id: userId, is_active: fields.is_active }),
  grams: gramsOf(fields.title, fields.description),
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

const isAffordable = ({ minPrice = 0, maxPrice = Number.POSITIVE_INFINITY }: ServiceFilter, row: ListRow) =>
  Number(row.price) >= minPrice && Number(row.price) <= maxPrice;

const isBoosted = (row: ListRow, now: Date): boolean => (row.boosted_until as Date) > now;

const NEVER_BOOSTED = new Date(0);

export const createTrainingServices = ({ trainingServices }: Models): TrainingServices => {
  const { collection } = trainingServices;
  const reader = createListReader(collection, {
    texts: TEXTS,
    accepted: ['facets', 'price', 'boosted_until'],
  });

  /** All that are boosted now, newest first. Boosts cost money, so they are few. */
  const boostedIds = async (filter: ServiceFilter, now: Date): Promise<number[]> => {
    const facets = new Set(filter.facets);
    const fields = ['facets', 'price', ...(hasSearchTerms(filter.search) ? TEXTS : [])];
    const found = await collection
      .find(
        { boosted_until: { $gt: now } },
        { projection: Object.fromEntries(fields.map((name) => [name, 1])) },
      )
      .toArray();
    return (found as unknown as ListRow[])
      .filter((row) => isInFacets(row, facets) && isAffordable(filter, row))
      .filter((row) => !hasSearchTerms(filter.search) || containsText(row, TEXTS, filter.search))
      .map(({ _id }) => _id)
      .toSorted((a, b) => b - a);
  };

  const findMany = async (ids: readonly number[]): Promise<TrainingService[]> => {
    if (ids.length === 0) return [];
    const found = await trainingServices
      .find({ _id: trusted({ $in: [...ids] }) }, { facets: 0, grams: 0 })
      .lean();
    const byId = new Map(found.map((row) => [row._id, fromDocument(row)]));
    return ids.map((id) => byId.get(id)).filter((service) => service !== undefined);
  };

  const unboosted = (
    { filter, total, newest, now }: ServicePageRequest,
    slice: Pick<Slice, 'after' | 'skip' | 'take' | 'counted'>,
  ): Promise<Listed> =>
    reader.read(
      inFacets(
        { facets: filter.facets, total, newest, search: filter.search },
        {
          accept: (row) => isAffordable(filter, row) && !isBoosted(row, now),
          also: priceRange(filter),
        },
      ),
      { order: 'DESC', ...slice },
    );

  const page = async (pageRequest: ServicePageRequest): Promise<PageOf<TrainingService>> => {
    const { request, filter } = pageRequest;
    const { perPage } = request;
    const isPaged = request.mode === 'page';
    const skip = isPaged ? request.skip : 0;
    // A cursor holds the rank (1: in the boosted part, 0: after it) and the last id.
    const [rank = 1, after] = isPaged ? [] : request.after;
    const allBoosted = rank === 0 ? [] : await boostedIds(filter, pageRequest.now);
    const boosted = allBoosted.filter((id) => after === undefined || id < after);
    const first = boosted.slice(skip, skip + perPage);
    const rest = await unboosted(pageRequest, {
      after: rank === 0 ? after : undefined,
      skip: Math.max(skip - boosted.length, 0),
      take: perPage - first.length,
      counted: isPaged,
    });
    const found = rest.rows as unknown as TrainingServiceDocument[];
    const rows = [...(await findMany(first)), ...found.map(fromDocument)];
    const more = boosted.length > skip + first.length || rest.more;
    const last = rows.at(-1);
    const matches = rest.total === undefined ? undefined : boosted.length + rest.total;
    const total = hasSearchTerms(filter.search) ? matches : pageRequest.total;
    return {
      rows,
      total: isPaged ? total : undefined,
      next: more && last ? [found.length > 0 ? 0 : 1, last.id] : undefined,
    };
  };

  return {
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
        boosted_until: NEVER_BOOSTED,
        created_at: service.created_at,
        updated_at: service.updated_at,
        version: service.version,
      };
      await trainingServices.create([document], { session });
    },
    write: async (session, { id, user_id: userId }, fields, now) => {
      const written = await trainingServices
        .findOneAndUpdate(
          { _id: id },
          { $set: { ...toDocumentFields(userId, fields), updated_at: now }, $inc: { version: 1 } },
          { session, returnDocument: 'after' },
        )
        .lean();
      if (written === null) throw new Error(`Training service ${id} vanished inside a transaction`);
      return fromDocument(written);
    },
    remove: async (session, id) => {
      const removed = await trainingServices.findOneAndDelete({ _id: id }, { session }).lean();
      return removed === null ? undefined : fromDocument(removed);
    },
    idsOfUser: async (session, userId) => {
      const found = await trainingServices.find({ user_id: userId }, { _id: 1 }).session(session).lean();
      return found.map(({ _id }) => _id);
    },
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
    setBoostedUntil: async (session, id, until) => {
      await trainingServices.updateOne({ _id: id }, { $set: { boosted_until: until } }, { session });
    },
    reindex: async () => {
      for await (const found of trainingServices.find({}).lean().cursor()) {
        const { _id, version } = found;
        const facets = serviceFacets(found);
        const grams = gramsOf(found.title, found.description);
        if (sameWords(found.facets, facets) && sameWords(found.grams, grams)) continue;
        // A row that changed in the meantime has correct ones.
        await trainingServices.updateOne({ _id, version }, { $set: { facets, grams } });
      }
    },
    allIds: async () => (await trainingServices.find({}, { _id: 1 }).lean()).map(({ _id }) => _id),
  };
};
