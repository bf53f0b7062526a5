/** Totals of lists, kept up by every write, so that no list is counted when it is read. */
import { type ClientSession, trusted } from '@fitness/shared/mongo/connect.ts';
import { isDuplicateKey } from '@fitness/shared/mongo/transaction.ts';
import type { Cell } from '../domain/post.ts';
import type { Models } from './models.ts';

const POST_SHARDS = 16;
const postShard = (id: number): string => `posts/${id % POST_SHARDS}`;
const POST_COUNTERS = Array.from({ length: POST_SHARDS }, (_, shard) => postShard(shard));
const SERVICE_COUNTER = 'training_services';

interface PostTotals {
  /** How many posts are in a cell. */
  count(cell: Cell): number;
  /** The largest id of a post, ever. */
  newest: number;
}

interface ServiceCounts {
  active: number;
  inactive: number;
}

interface ServiceTotals extends ServiceCounts {
  /** The largest id of a training service, ever. */
  newest: number;
}

export interface Counters {
  /** Makes the documents; before the first write. */
  prepare(): Promise<void>;
  /** `spread` picks the document: any number that differs between concurrent writers. */
  movePosts(
    session: ClientSession,
    spread: number,
    moves: Partial<Record<Cell, number>>,
    newest?: number,
  ): Promise<void>;
  posts(): Promise<PostTotals>;
  /** The counters as counted anew; a writer at the same moment makes it start again. */
  setPosts(session: ClientSession, counts: Partial<Record<Cell, number>>, newest: number): Promise<void>;
  /** Moves how many training services there are; `newest` for one that was made. */
  moveServices(session: ClientSession, moves: Partial<ServiceCounts>, newest?: number): Promise<void>;
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
  movePosts: async (session, spread, moves, newest = 0) => {
    const changed = Object.entries(moves).filter(([, by]) => by !== 0);
    if (changed.length === 0 && newest === 0) return;
    const inc = Object.fromEntries(changed.map(([cell, by]) => [`counts.${cell}`, by]));
    await counters.updateOne(
      { _id: postShard(spread) },
      { $max: { newest }, ...(changed.length === 0 ? {} : { $inc: inc }) },
      { session },
    );
  },
  posts: async () => {
    const shards = await counters.find({ _id: trusted({ $in: POST_COUNTERS }) }).lean();
    return {
      count: (cell) => shards.reduce((total, { counts }) => total + (counts[cell] ?? 0), 0),
      newest: Math.max(0, ...shards.map(({ newest }) => newest)),
    };
  },
  setPosts: async (session, counts, newest) => {
    for (const _id of POST_COUNTERS) {
      const mine = _id === POST_COUNTERS[0] ? counts : {};
      await counters.updateOne({ _id }, { $set: { counts: mine }, $max: { newest } }, { session });
    }
  },
  moveServices: async (session, moves, newest = 0) => {
    const inc = Object.fromEntries(Object.entries(moves).map(([key, by]) => [`counts.${key}`, by]));
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
