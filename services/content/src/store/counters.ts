/** Totals of lists. Every write updates them, so reads need not count. */
import { shareReads } from '@fitness/shared/kernel/share-reads.ts';
import {
  type ChangedRow,
  changesSince,
  type ListChanges,
  type ListVersions,
  versionsOf,
  versionUpdate,
  WITHOUT_CHANGES,
} from '@fitness/shared/lists/versions.ts';
import { type ClientSession, trusted } from '@fitness/shared/mongo/connect.ts';
import { ignoreDuplicate } from '@fitness/shared/mongo/transaction.ts';
import type { TotalKey } from '../domain/post-lists.ts';
import type { CounterDocument, MovingProfile } from './models/counters.ts';
import type { Models } from './models.ts';

/** Sharded over several documents, so concurrent writers seldom conflict. */
const SHARDS = 16;
const shardsOf = (first: string, name: string): string[] =>
  Array.from({ length: SHARDS }, (_, shard) => (shard === 0 ? first : `${name}/${shard}`));
const POST_COUNTERS = shardsOf('posts/0', 'posts');
// The first document keeps the name of the single document that older releases had.
const SERVICE_COUNTERS = shardsOf('training_services', 'training_services');

export interface PostTotals {
  count(key: TotalKey): number;
  /** Keyed by `profileKey`, and read at the same moment as the counts. */
  moving: ReadonlyMap<string, MovingProfile>;
  /** Versions of the lists of posts. */
  versions: ListVersions;
  /** The largest id that a post ever had. */
  newest: number;
}

interface ServiceCounts {
  active: number;
  inactive: number;
}

export interface ServiceTotals extends ServiceCounts {
  /** Versions of the lists of training services. */
  versions: ListVersions;
  /** The largest id that a training service ever had. */
  newest: number;
}

interface Increment {
  /** Any number that differs between concurrent writers. */
  shardKey: number;
  /** The largest new id. */
  newest?: number | undefined;
  /** Ids, or keys of profiles whose posts changed. If omitted, any row may have changed. */
  changed?: readonly ChangedRow[] | undefined;
  /** Sets or clears the entry of a moving profile. Always use the same `shardKey` for one profile. */
  moving?: readonly [key: string, MovingProfile | undefined];
}

export interface Counters {
  /** Creates the documents. Call it before the first write. */
  prepare(): Promise<void>;
  /** Call it in every transaction that changes posts, unless only their grams change. */
  incrementPosts(
    session: ClientSession,
    deltas: Partial<Record<TotalKey, number>>,
    increment: Increment,
  ): Promise<void>;
  /** Like `incrementPosts`, for training services. */
  incrementServices(
    session: ClientSession,
    deltas: Partial<ServiceCounts>,
    increment: Increment,
  ): Promise<void>;
  /** Never older than the call: concurrent calls share one read that starts after them. */
  posts(): Promise<PostTotals>;
  services(): Promise<ServiceTotals>;
  changesSince(since: ListVersions): Promise<ListChanges>;
  /** Sets the totals after a recount. A concurrent write conflicts, and the transaction is retried. */
  setPosts(session: ClientSession, counts: Partial<Record<TotalKey, number>>, newest: number): Promise<void>;
  setServices(session: ClientSession, totals: Omit<ServiceTotals, 'versions'>): Promise<void>;
}

const movingUpdate = ([key, profile]: NonNullable<Increment['moving']>) => {
  const path = `moving.${key}`;
  return profile === undefined ? { $unset: { [path]: '' } } : { $set: { [path]: profile } };
};

const increment =
  (counters: Models['counters'], shards: readonly string[]) =>
  async (
    session: ClientSession,
    deltas: Partial<Record<string, number>>,
    { shardKey, newest = 0, changed, moving }: Increment,
  ): Promise<void> => {
    const increments = Object.fromEntries(
      Object.entries(deltas).map(([key, by = 0]) => [`counts.${key}`, by]),
    );
    const change = {
      $max: { newest },
      ...versionUpdate(changed, increments),
      ...(moving && movingUpdate(moving)),
    };
    await counters.updateOne({ _id: String(shards[shardKey % SHARDS]) }, change, { session });
  };

export const createCounters = ({ counters }: Models): Counters => {
  const read = (shards: readonly string[]) =>
    shareReads(async () => {
      const documents = await counters.collection
        .find<CounterDocument>({ _id: { $in: shards } as never }, { projection: WITHOUT_CHANGES })
        .toArray();
      return {
        count: (key: string) => documents.reduce((total, { counts }) => total + (counts[key] ?? 0), 0),
        moving: new Map(documents.flatMap(({ moving = {} }) => Object.entries(moving))),
        versions: versionsOf(documents),
        newest: Math.max(0, ...documents.map(({ newest }) => newest)),
      };
    });

  const set = async (
    session: ClientSession,
    shards: readonly string[],
    counts: Partial<Record<string, number>>,
    newest: number,
  ): Promise<void> => {
    for (const [shard, _id] of shards.entries()) {
      const change = {
        $set: { counts: shard === 0 ? counts : {} },
        $max: { newest },
        ...versionUpdate(undefined),
      };
      await counters.updateOne({ _id }, change, { session });
    }
  };

  const readServices = read(SERVICE_COUNTERS);
  return {
    prepare: async () => {
      const existing = new Set((await counters.find({}, { _id: 1 }).lean()).map(({ _id }) => _id));
      for (const _id of [...POST_COUNTERS, ...SERVICE_COUNTERS]) {
        if (existing.has(_id)) continue;
        await counters.create({ _id, counts: {}, newest: 0 }).catch(ignoreDuplicate);
      }
    },
    incrementPosts: increment(counters, POST_COUNTERS),
    incrementServices: increment(counters, SERVICE_COUNTERS),
    posts: read(POST_COUNTERS),
    services: async () => {
      const { count, versions, newest } = await readServices();
      return { active: count('active'), inactive: count('inactive'), versions, newest };
    },
    changesSince: async (since) => {
      const documents = await counters.find({ _id: trusted({ $in: [...since.keys()] as string[] }) }).lean();
      return changesSince(documents, since);
    },
    setPosts: (session, counts, newest) => set(session, POST_COUNTERS, counts, newest),
    setServices: (session, { newest, ...counts }) => set(session, SERVICE_COUNTERS, counts, newest),
  };
};
