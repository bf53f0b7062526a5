/**
 * Counters of how many gyms exist and which ones changed last, updated by every write. A list without filters needs no counting
 * when it is read, and a process may keep gyms in memory. Several documents share the counts, so concurrent writers seldom conflict.
 */
import { shareReads } from '@fitness/shared/kernel/share-reads.ts';
import {
  changesSince,
  type ListChanges,
  type ListVersions,
  type VersionedCounter,
  versionsOf,
  versionUpdate,
  WITHOUT_CHANGES,
} from '@fitness/shared/lists/versions.ts';
import { type ClientSession, trusted } from '@fitness/shared/mongo/connect.ts';
import { retain, schemaOf } from '@fitness/shared/mongo/privacy.ts';
import { beforeCommit, ignoreDuplicate } from '@fitness/shared/mongo/transaction.ts';
import type { Connection, Model } from 'mongoose';
import type { GymDocument } from './gym-document.ts';

/** `placed` gyms have a latitude and a longitude. */
const COUNT_KEYS = ['active_placed', 'active_unplaced', 'hidden_placed', 'hidden_unplaced'] as const;
type CountKey = (typeof COUNT_KEYS)[number];
type Counts = Record<CountKey, number>;

interface CounterDocument extends Counts, VersionedCounter {
  _id: number;
  /** The largest id counted in this document. */
  newest: number;
}

const SHARDS = Array.from({ length: 16 }, (_, shard) => shard);
const EMPTY: Counts = { active_placed: 0, active_unplaced: 0, hidden_placed: 0, hidden_unplaced: 0 };

const count = { type: Number, required: true } as const;
const counterSchema = schemaOf<CounterDocument>(
  { collection: 'gym_counters', versionKey: false },
  retain('how many gyms there are', {
    _id: count,
    active_placed: count,
    active_unplaced: count,
    hidden_placed: count,
    hidden_unplaced: count,
    newest: count,
    version: Number,
    changes: { type: [Number], default: undefined },
  }),
);

/** The fields of a gym that decide which counter it belongs to. */
type Counted = Pick<GymDocument, 'isActive' | 'geohash'>;

export interface GymTotals {
  active: number;
  all: number;
  activePlaced: number;
  allPlaced: number;
  /** The largest id that a gym ever had. */
  newest: number;
  versions: ListVersions;
}

export interface Counters {
  /** Creates the documents. Must be called before the first write. */
  prepare(): Promise<void>;
  /** Runs in the transaction of every write of a gym. `before` is undefined for a creation, and `after` for a deletion. */
  move(session: ClientSession, id: number, before: Counted | undefined, after: Counted | undefined): void;
  /** Like `move`, for a write that leaves the gym in the same counter. */
  touch(session: ClientSession, id: number): void;
  /** The result is as new as the call: concurrent calls share one read that starts after them. */
  totals(): Promise<GymTotals>;
  changesSince(since: ListVersions): Promise<ListChanges>;
}

const countKey = ({ isActive, geohash }: Counted): CountKey =>
  `${isActive ? 'active' : 'hidden'}_${geohash === null ? 'unplaced' : 'placed'}`;

const sumOf = (documents: readonly CounterDocument[]): Counts & { newest: number } =>
  documents.reduce(
    (sum, document) => ({
      ...(Object.fromEntries(COUNT_KEYS.map((key) => [key, sum[key] + document[key]])) as Counts),
      newest: Math.max(sum.newest, document.newest),
    }),
    { ...EMPTY, newest: 0 },
  );

export const createCounters = (connection: Connection): Counters => {
  const counters: Model<CounterDocument> =
    connection.models.GymCounter ?? connection.model<CounterDocument>('GymCounter', counterSchema);

  const write = (session: ClientSession, id: number, increments: Partial<Record<CountKey, number>>): void => {
    const change = { ...versionUpdate([id], increments), $max: { newest: id } };
    // Written last in the transaction, which keeps the time short in which writers of two gyms conflict.
    beforeCommit(session, async () => {
      await counters.updateOne({ _id: id % SHARDS.length }, change, { session });
    });
  };

  return {
    prepare: async () => {
      for (const _id of SHARDS) {
        if ((await counters.exists({ _id })) !== null) continue;
        await counters.create({ _id, ...EMPTY, newest: 0 }).catch(ignoreDuplicate);
      }
    },
    move: (session, id, before, after) => {
      const [from, to] = [before && countKey(before), after && countKey(after)];
      write(session, id, from === to ? {} : { ...(from && { [from]: -1 }), ...(to && { [to]: 1 }) });
    },
    touch: (session, id) => write(session, id, {}),
    totals: shareReads(async () => {
      const stored = await counters.collection
        .find<CounterDocument>({ _id: { $in: SHARDS } as never }, { projection: WITHOUT_CHANGES })
        .toArray();
      const { newest, ...counts } = sumOf(stored);
      const activePlaced = counts.active_placed;
      const allPlaced = activePlaced + counts.hidden_placed;
      const active = activePlaced + counts.active_unplaced;
      return {
        active,
        all: active + counts.hidden_placed + counts.hidden_unplaced,
        activePlaced,
        allPlaced,
        newest,
        versions: versionsOf(stored),
      };
    }),
    changesSince: async (since) => {
      const names = [...since.keys()] as number[];
      return changesSince(
        await counters.find({ _id: trusted({ $in: names }) }).lean<CounterDocument[]>(),
        since,
      );
    },
  };
};
