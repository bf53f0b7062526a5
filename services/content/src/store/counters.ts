/** Totals of lists. Every write updates them, so that no read has to count. */
import { type ClientSession, trusted } from '@fitness/shared/mongo/connect.ts';
import { isDuplicateKey } from '@fitness/shared/mongo/transaction.ts';
import type { TotalKey } from '../domain/post-lists.ts';
import type { Models } from './models.ts';

const POST_SHARDS = 16;
const postShard = (id: number): string => `posts/${id % POST_SHARDS}`;
const POST_COUNTERS = Array.from({ length: POST_SHARDS }, (_, shard) => postShard(shard));
const SERVICE_COUNTER = 'training_services';

interface PostTotals {
  count(key: TotalKey): number;
  /** The largest id that a post ever had. */
  newest: number;
}

interface ServiceCounts {
  active: number;
  inactive: number;
}

interface ServiceTotals extends ServiceCounts {
  /** The largest id that a training service ever had. */
  newest: number;
}

export interface Counters {
  /** Creates the documents; call it before the first write. */
  prepare(): Promise<void>;
  /** `shardKey`: any number that differs between concurrent writers. */
  incrementPosts(
    session: ClientSession,
    shardKey: number,
    deltas: Partial<Record<TotalKey, number>>,
    newest?: number,
  ): Promise<void>;
  posts(): Promise<PostTotals>;
  /** Sets the totals after a recount. A concurrent write conflicts, and the transaction is retried. */
  setPosts(session: ClientSession, counts: Partial<Record<TotalKey, number>>, newest: number): Promise<void>;
  /** `newest`: the id of a new training service. */
  incrementServices(session: ClientSession, deltas: Partial<ServiceCounts>, newest?: number): Promise<void>;
  services(): Promise<ServiceTotals>;
  setServices(session: ClientSession, totals: ServiceTotals): Promise<void>;
}

export const createCounters = ({ counters }: Models): Counters => ({
  prepare: async () => {
    for (const _id of [...POST_COUNTERS, SERVICE_COUNTER]) {
      await counters.create({ _id, counts: {}, newest: 0 }).catch((error: unknown) => {
        if (!isDuplicateKey(error)) throw error;
      });
    }
  },
  incrementPosts: async (session, shardKey, deltas, newest = 0) => {
    const changed = Object.entries(deltas).filter(([, by]) => by !== 0);
    if (changed.length === 0 && newest === 0) return;
    const inc = Object.fromEntries(changed.map(([key, by]) => [`counts.${key}`, by]));
    await counters.updateOne(
      { _id: postShard(shardKey) },
      { $max: { newest }, ...(changed.length === 0 ? {} : { $inc: inc }) },
      { session },
    );
  },
  posts: async () => {
    const shards = await counters.find({ _id: trusted({ $in: POST_COUNTERS }) }).lean();
    return {
      count: (key) => shards.reduce((total, { counts }) => total + (counts[key] ?? 0), 0),
      newest: Math.max(0, ...shards.map(({ newest }) => newest)),
    };
  },
  setPosts: async (session, counts, newest) => {
    for (const _id of POST_COUNTERS) {
      const mine = _id === POST_COUNTERS[0] ? counts : {};
      await counters.updateOne({ _id }, { $set: { counts: mine }, $max: { newest } }, { session });
    }
  },
  incrementServices: async (session, deltas, newest = 0) => {
    const inc = Object.fromEntries(Object.entries(deltas).map(([key, by]) => [`counts.${key}`, by]));
    await counters.updateOne({ _id: SERVICE_COUNTER }, { $inc: inc, $max: { newest } }, { session });
  },
  services: async () => {
    const found = await counters.findById(SERVICE_COUNTER).lean();
    const { active = 0, inactive = 0 } = found?.counts ?? {};
    return { active, inactive, newest: found?.newest ?? 0 };
  },
  setServices: async (session, { active, inactive, newest }) => {
    const change = { $set: { counts: { active, inactive } }, $max: { newest } };
    await counters.updateOne({ _id: SERVICE_COUNTER }, change, { session });
  },
});
