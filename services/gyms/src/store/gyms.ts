import type { MediaCopy } from '@fitness/contracts/media-copy.ts';
import type { Progress } from '@fitness/shared/kernel/progress.mjs';
import type { ListCache } from '@fitness/shared/lists/index.ts';
import { createRowTexts, type Transaction } from '@fitness/shared/lists/texts.ts';
import { type ClientSession, trusted } from '@fitness/shared/mongo/connect.ts';
import type { IsPersonal } from '@fitness/shared/mongo/privacy.ts';
import type { Connection, Model } from 'mongoose';
import { type Boost, boostState, withBoost } from '../domain/boost.ts';
import type { Gym } from '../domain/gym.ts';
import type { Counters } from './counters.ts';
import {
  countedOf,
  derivedOf,
  GYM_PROJECTION,
  type GymDocument,
  gymModel,
  gymTextModel,
  isPersonalGymField,
  readGyms,
  readGymsById,
  SEARCHED,
  toDocument,
  toGym,
} from './gym-document.ts';
import { createGymLists, type GymLists } from './gym-lists.ts';

type GymChanges = Partial<Omit<Gym, 'id' | 'version' | 'createdAt' | 'updatedAt'>>;

export interface Gyms extends GymLists {
  /** Takes the path of a stored field. */
  isPersonal: IsPersonal;
  insert(session: ClientSession, gym: Gym): Promise<void>;
  find(id: number, session?: ClientSession): Promise<Gym | undefined>;
  /** Unknown ids are left out. */
  findMany(ids: readonly number[]): Promise<Gym[]>;
  /** Corrects the grams of every gym, and returns how many were wrong. Reads the whole collection. */
  reindex(progress: Progress): Promise<number>;
  /**
   * Writes only the fields of `changes` and those derived from them. `before` must have been read in the same transaction.
   * `keepVersion` is for a change that publishes no event.
   */
  update(
    session: ClientSession,
    before: Gym,
    changes: GymChanges,
    options: { now: Date; keepVersion?: boolean },
  ): Promise<Gym>;
  /** Undefined when the gym does not exist. */
  addRating(
    session: ClientSession,
    id: number,
    add: { sum: number; count: number },
  ): Promise<Gym | undefined>;
  /** Returns undefined without a write if the gym does not exist or the event is not newer. */
  saveBoost(session: ClientSession, id: number, boost: Boost): Promise<Gym | undefined>;
  /** Keyed by the id of the gym. Gyms that do not exist are missing. */
  boostsOf(ids: readonly number[], session?: ClientSession): Promise<Map<number, Boost[]>>;
  /** Replaces the stored boosts of a gym. */
  setBoosts(session: ClientSession, id: number, boosts: readonly Boost[]): Promise<void>;
  /** Stores the public files of a gym unless it has a newer copy, or does not exist. */
  saveMedia(session: ClientSession, id: number, copy: MediaCopy): Promise<void>;
  /** The ids of all gyms. */
  allIds(): Promise<number[]>;
  /** `gym` must have been read in the same transaction. */
  remove(session: ClientSession, gym: Gym): Promise<void>;
  countOwnedBy(userId: number): Promise<number>;
  /** Returns at most `limit` gyms. */
  findOwnedBy(session: ClientSession, userId: number, limit: number): Promise<Gym[]>;
}

/** The boosts of gyms, which a list puts first while they run. */
const createBoosts = (
  gyms: Model<GymDocument>,
  counters: Counters,
): Pick<Gyms, 'saveBoost' | 'boostsOf' | 'setBoosts'> => {
  const setBoosts: Gyms['setBoosts'] = async (session, id, boosts) => {
    await gyms.updateOne({ _id: id }, { $set: { boosts, ...boostState(boosts) } }, { session });
    counters.touch(session, id);
  };
  return {
    saveBoost: async (session, id, boost) => {
      const document = await gyms.findById(id, {}, { session }).lean<GymDocument>();
      if (document === null) return undefined;
      // Older releases stored no boosts.
      const boosts = withBoost(document.boosts ?? [], boost);
      if (boosts === undefined) return undefined;
      await setBoosts(session, id, boosts);
      return toGym(document);
    },
    boostsOf: async (ids, session) => {
      const rows = await gyms
        .find({ _id: trusted({ $in: [...ids] }) }, { boosts: 1 }, session && { session })
        .lean<Pick<GymDocument, '_id' | 'boosts'>[]>();
      // Older releases stored no boosts.
      return new Map(rows.map(({ _id, boosts = [] }) => [_id, boosts]));
    },
    setBoosts,
  };
};

export const createGyms = (
  connection: Connection,
  counters: Counters,
  transaction: Transaction,
  cache: ListCache | undefined,
): Gyms => {
  const gyms = gymModel(connection);
  const texts = createRowTexts(gymTextModel(connection), gyms.collection, SEARCHED, transaction);
  return {
    isPersonal: isPersonalGymField,
    insert: async (session, gym) => {
      const document = toDocument(gym);
      await gyms.create([document], { session });
      await texts.add(session, gym.id, gym);
      counters.move(session, gym.id, undefined, document);
    },
    find: async (id, session) => (await readGyms(gyms, { _id: id }, session))[0],
    reindex: texts.reindex,
    findMany: (ids) => readGymsById(gyms, ids),
    update: async (session, before, changes, { now, keepVersion = false }) => {
      const version = keepVersion ? before.version : before.version + 1;
      const after: Gym = { ...before, ...changes, version, updatedAt: now };
      const derived = derivedOf(after, Object.keys(changes));
      const set = { ...changes, ...derived, version, updatedAt: now };
      await gyms.updateOne({ _id: before.id }, { $set: set }, { session });
      if (SEARCHED.some((field) => after[field] !== before[field])) {
        await texts.remove(session, [before.id]);
        await texts.add(session, before.id, after);
      }
      if ('isActive' in changes || 'geohash' in derived)
        counters.move(session, before.id, countedOf(before), countedOf(after));
      else counters.touch(session, before.id);
      return after;
    },
    addRating: async (session, id, { sum, count: ratings }) => {
      const after = await gyms
        .findOneAndUpdate(
          { _id: id },
          { $inc: { ratingSum: sum, ratingCount: ratings } },
          { session, returnDocument: 'after' },
        )
        .select(GYM_PROJECTION)
        .lean<GymDocument>();
      counters.touch(session, id);
      return after === null ? undefined : toGym(after);
    },
    ...createBoosts(gyms, counters),
    saveMedia: async (session, id, { version, files }) => {
      const gym = await gyms.findById(id, { media: 1 }, { session }).lean<Pick<GymDocument, 'media'>>();
      if (gym === null || (gym.media?.version ?? 0) > version) return;
      await gyms.updateOne({ _id: id }, { $set: { media: { version, files } } }, { session });
      counters.touch(session, id);
    },
    allIds: async () => (await gyms.find({}, { _id: 1 }).lean<{ _id: number }[]>()).map(({ _id }) => _id),
    remove: async (session, gym) => {
      await gyms.deleteOne({ _id: gym.id }, { session });
      await texts.remove(session, [gym.id]);
      counters.move(session, gym.id, countedOf(gym), undefined);
    },
    countOwnedBy: (userId) => gyms.countDocuments({ ownerId: userId }),
    findOwnedBy: (session, userId, limit) => readGyms(gyms, { ownerId: userId }, session, limit),
    ...createGymLists(connection, counters, texts.grams, cache),
  };
};
