/** The training services, and how long each is boosted. */
import { type ClientSession, trusted } from '@fitness/shared/mongo/connect.ts';
import { indexGrams } from '@fitness/shared/text-search.ts';
import { asksForText } from '../domain/search.ts';
import { serviceFacets, type TrainingService } from '../domain/training-service.ts';
import { compareIds, readIds, type Slice } from './id-stream.ts';
import type { Models, TrainingServiceDocument } from './models.ts';
import { findText } from './text-stream.ts';

export type ServiceContent = Pick<
  TrainingService,
  'title' | 'description' | 'price' | 'durationDays' | 'isActive'
>;

export interface ServiceFilter {
  /** The lists to read; they have no row in common. */
  facets: readonly string[];
  minPrice?: number | undefined;
  maxPrice?: number | undefined;
  search?: string | undefined;
}

export interface ServiceSlice {
  /** Boosted ones only, or the others only. */
  boosted: boolean;
  now: Date;
  after?: number | undefined;
  need: number;
}

export interface TrainingServices {
  find(id: number, session?: ClientSession): Promise<TrainingService | undefined>;
  /** In the order of `ids`; those that are not there are missing. */
  findMany(ids: readonly number[]): Promise<TrainingService[]>;
  insert(session: ClientSession, service: TrainingService): Promise<void>;
  write(
    session: ClientSession,
    current: TrainingService,
    content: ServiceContent,
    now: Date,
  ): Promise<TrainingService>;
  /** The one that was there; undefined when there was none. */
  remove(session: ClientSession, id: number): Promise<TrainingService | undefined>;
  idsOfUser(session: ClientSession, userId: number): Promise<number[]>;
  /** Newest first. `total` is of the whole list, boosted or not; undefined where it is too large to count. */
  ids(filter: ServiceFilter, slice: ServiceSlice, newest: number): Promise<number[]>;
  count(filter: ServiceFilter, newest: number): Promise<number | undefined>;
  setBoostedUntil(session: ClientSession, id: number, until: Date): Promise<void>;
  /** The ids of all of them. */
  allIds(): Promise<number[]>;
}

const TEXT_FIELDS = ['title', 'description'] as const;

const toService = (found: Omit<TrainingServiceDocument, 'facets' | 'grams'>): TrainingService => ({
  id: found._id,
  userId: found.user_id,
  title: found.title,
  description: found.description,
  price: found.price,
  durationDays: found.duration_days,
  isActive: found.is_active,
  createdAt: found.created_at,
  updatedAt: found.updated_at,
  version: found.version,
});

const writable = ({ title, description, price, durationDays, isActive }: ServiceContent) => ({
  title,
  description,
  price,
  duration_days: durationDays,
  is_active: isActive,
  grams: [...new Set([title, description].flatMap(indexGrams))],
});

const priceCondition = ({ minPrice, maxPrice }: ServiceFilter): Record<string, unknown> => {
  if (minPrice === undefined && maxPrice === undefined) return {};
  return {
    price: {
      ...(minPrice === undefined ? {} : { $gte: minPrice }),
      ...(maxPrice === undefined ? {} : { $lte: maxPrice }),
    },
  };
};

const NEVER_BOOSTED = new Date(0);

export const createTrainingServices = ({ trainingServices }: Models): TrainingServices => {
  const { collection } = trainingServices;

  /** As many as there are, in a list that is read without windows when `newest` is small. */
  const totalOf = (facet: string): Promise<number> => trainingServices.countDocuments({ facets: facet });

  const search = (filter: ServiceFilter, also: Record<string, unknown>, slice: Slice, newest: number) =>
    findText(
      collection,
      { facets: filter.facets, query: filter.search ?? '', fields: TEXT_FIELDS, total: newest, newest, also },
      slice,
    );

  return {
    find: async (id, session) => {
      const found = await trainingServices
        .findById(id, { facets: 0, grams: 0 })
        .session(session ?? null)
        .lean();
      return found === null ? undefined : toService(found);
    },
    findMany: async (ids) => {
      if (ids.length === 0) return [];
      const found = await trainingServices
        .find({ _id: trusted({ $in: [...ids] }) }, { facets: 0, grams: 0 })
        .lean();
      const byId = new Map(found.map((row) => [row._id, toService(row)]));
      return ids.map((id) => byId.get(id)).filter((service) => service !== undefined);
    },
    insert: async (session, service) => {
      const document = {
        _id: service.id,
        user_id: service.userId,
        ...writable(service),
        facets: serviceFacets(service),
        boosted_until: NEVER_BOOSTED,
        created_at: service.createdAt,
        updated_at: service.updatedAt,
        version: service.version,
      };
      await trainingServices.create([document], { session });
    },
    write: async (session, { id, userId }, content, now) => {
      const facets = serviceFacets({ userId, isActive: content.isActive });
      const written = await trainingServices
        .findOneAndUpdate(
          { _id: id },
          { $set: { ...writable(content), facets, updated_at: now }, $inc: { version: 1 } },
          { session, returnDocument: 'after' },
        )
        .lean();
      if (written === null) throw new Error(`Training service ${id} vanished inside a transaction`);
      return toService(written);
    },
    remove: async (session, id) => {
      const removed = await trainingServices.findOneAndDelete({ _id: id }, { session }).lean();
      return removed === null ? undefined : toService(removed);
    },
    idsOfUser: async (session, userId) => {
      const found = await trainingServices.find({ user_id: userId }, { _id: 1 }).session(session).lean();
      return found.map(({ _id }) => _id);
    },
    ids: async (filter, { boosted, now, after, need }, newest) => {
      const also = {
        ...priceCondition(filter),
        boosted_until: boosted ? { $gt: now } : { $lte: now },
      };
      const slice: Slice = { order: 'DESC', after, need };
      if (asksForText(filter.search)) return (await search(filter, also, slice, newest)).ids;
      const lists = await Promise.all(
        filter.facets.map(async (facet) => {
          // Boosted ones are few, wherever they are: their own index finds them.
          const total = boosted ? 1 : await totalOf(facet);
          return readIds(collection, { facet, total, newest, also }, slice);
        }),
      );
      return lists.flat().toSorted(compareIds('DESC')).slice(0, need);
    },
    count: async (filter, newest) => {
      const price = priceCondition(filter);
      if (asksForText(filter.search))
        return (await search(filter, price, { order: 'DESC', need: 1 }, newest)).total;
      const totals = await Promise.all(
        filter.facets.map((facet) => collection.countDocuments({ facets: facet, ...price })),
      );
      return totals.reduce((sum, total) => sum + total, 0);
    },
    setBoostedUntil: async (session, id, until) => {
      await trainingServices.updateOne({ _id: id }, { $set: { boosted_until: until } }, { session });
    },
    allIds: async () => (await trainingServices.find({}, { _id: 1 }).lean()).map(({ _id }) => _id),
  };
};
