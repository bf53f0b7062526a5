/** Totals of lists. Every write updates them, so that no read has to count. */
import { type ClientSession, trusted } from '@fitness/shared/mongo/connect.ts';
import { isDuplicateKey } from '@fitness/shared/mongo/transaction.ts';
import type { TotalKey } from '../domain/post-lists.ts';
import type { CounterDocument, Models } from './models.ts';
import type { ListVersions } from './post-positions.ts';
import { shareReads } from './share-reads.ts';

const POST_SHARDS = 16;
const postShard = (id: number): string => `posts/${id % POST_SHARDS}`;
const POST_COUNTERS = Array.from({ length: POST_SHARDS }, (_, shard) => postShard(shard));
const SERVICE_COUNTER = 'training_services';

/** Changes that a counter document remembers. */
const CHANGES_MAX = 64;

export interface PostTotals {
  count(key: TotalKey): number;
  /** Of the lists of posts. */
  versions: ListVersions;
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

/** The id of a post, or the `profileKey` of a profile whose posts changed. */
export type ChangedPost = number | string;

export interface Counters {
  /** Creates the documents; call it before the first write. */
  prepare(): Promise<void>;
  /**
   * Call it in every transaction that changes posts, except for their grams. `shardKey`: any number that differs between
   * concurrent writers. `changed`: without it, any of them.
   */
  incrementPosts(
    session: ClientSession,
    shardKey: number,
    deltas: Partial<Record<TotalKey, number>>,
    newest?: number,
    changed?: readonly ChangedPost[],
  ): Promise<void>;
  /** The answer is as new as the call: concurrent calls share one read that begins after them. */
  posts(): Promise<PostTotals>;
  /** What changed since these versions; `changed` is undefined where the documents no longer tell. */
  changedPosts(since: ListVersions): Promise<{ versions: ListVersions; changed: ChangedPost[] | undefined }>;
  /** Sets the totals after a recount. A concurrent write conflicts, and the transaction is retried. */
  setPosts(session: ClientSession, counts: Partial<Record<TotalKey, number>>, newest: number): Promise<void>;
  /** `newest`: the id of a new training service. */
  incrementServices(session: ClientSession, deltas: Partial<ServiceCounts>, newest?: number): Promise<void>;
  services(): Promise<ServiceTotals>;
  setServices(session: ClientSession, totals: ServiceTotals): Promise<void>;
}

/** An increment of the version after which the stored changes do not lead from the one before. */
const FORGET = CHANGES_MAX + 1;

const versionsOf = (shards: readonly CounterDocument[]): ListVersions =>
  new Map(shards.map(({ _id, version = 0 }) => [_id, version]));

export const createCounters = ({ counters }: Models): Counters => ({
  prepare: async () => {
    for (const _id of [...POST_COUNTERS, SERVICE_COUNTER]) {
      await counters.create({ _id, counts: {}, newest: 0 }).catch((error: unknown) => {
        if (!isDuplicateKey(error)) throw error;
      });
    }
  },
  incrementPosts: async (session, shardKey, deltas, newest = 0, changed) => {
    const inc = Object.entries(deltas).map(([key, by]) => [`counts.${key}`, by]);
    const version = changed === undefined ? FORGET : changed.length;
    const change = {
      $max: { newest },
      $inc: { ...Object.fromEntries(inc), version },
      ...(changed === undefined ? {} : { $push: { changes: { $each: changed, $slice: -CHANGES_MAX } } }),
    };
    await counters.updateOne({ _id: postShard(shardKey) }, change, { session });
  },
  posts: shareReads(async () => {
    const shards = await counters.collection
      .find<CounterDocument>({ _id: { $in: POST_COUNTERS } as never }, { projection: { changes: 0 } })
      .toArray();
    return {
      count: (key) => shards.reduce((total, { counts }) => total + (counts[key] ?? 0), 0),
      versions: versionsOf(shards),
      newest: Math.max(0, ...shards.map(({ newest }) => newest)),
    };
  }),
  changedPosts: async (since) => {
    const shards = await counters.find({ _id: trusted({ $in: [...since.keys()] }) }).lean();
    const perShard = shards.map(({ _id, version = 0, changes = [] }) => {
      const missed = version - (since.get(_id) ?? 0);
      return missed > changes.length ? undefined : changes.slice(changes.length - Math.max(missed, 0));
    });
    return {
      versions: versionsOf(shards),
      changed: perShard.every((changes) => changes !== undefined) ? perShard.flat() : undefined,
    };
  },
  setPosts: async (session, counts, newest) => {
    for (const _id of POST_COUNTERS) {
      const mine = _id === POST_COUNTERS[0] ? counts : {};
      const change = { $set: { counts: mine }, $max: { newest }, $inc: { version: FORGET } };
      await counters.updateOne({ _id }, change, { session });
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
