/**
 * Versions of the rows of a collection, in the counter documents that its lists read for their totals (docs/adr/0101). Every
 * transaction that changes rows increments the version of a counter document and adds to it which rows changed, so that a
 * process which keeps rows in memory learns what it must read again.
 */

/** The id of a row, or a name of several rows whose meaning the collection knows. */
export type ChangedRow = number | string;

/** Of each counter document by its id. */
export type ListVersions = ReadonlyMap<number | string, number>;

export interface VersionedCounter {
  _id: number | string;
  /** Missing before the first change. */
  version?: number;
  /** The last ones, the newest last. */
  changes?: ChangedRow[];
}

export interface ListChanges {
  /** Now, of the documents that were asked for. */
  versions: ListVersions;
  /** Undefined where the documents no longer tell: any row may have changed. */
  changed: ChangedRow[] | undefined;
}

/** Changes that a counter document remembers. */
const CHANGES_MAX = 64;
/** An increment after which the stored changes do not lead from the version before. */
const ANY = CHANGES_MAX + 1;

/** The operators that write a change into a counter document, merged with its other increments. Without `changed`: any row. */
export const versionUpdate = (
  changed: readonly ChangedRow[] | undefined,
  increments: Readonly<Record<string, number>> = {},
) => ({
  $inc: { ...increments, version: changed === undefined ? ANY : changed.length },
  ...(changed === undefined ? {} : { $push: { changes: { $each: [...changed], $slice: -CHANGES_MAX } } }),
});

/** A projection of a counter document without its changes, which only a reader that is behind needs. */
export const WITHOUT_CHANGES = { changes: 0 } as const;

export const versionsOf = (counters: readonly VersionedCounter[]): ListVersions =>
  new Map(counters.map(({ _id, version = 0 }) => [_id, version]));

/** What changed since these versions. `counters`: the documents that they name, with their changes. */
export const changesSince = (counters: readonly VersionedCounter[], since: ListVersions): ListChanges => {
  const perCounter = counters.map(({ _id, version = 0, changes = [] }) => {
    const missed = version - (since.get(_id) ?? 0);
    return missed > changes.length ? undefined : changes.slice(changes.length - Math.max(missed, 0));
  });
  return {
    versions: versionsOf(counters),
    changed: perCounter.every((changes) => changes !== undefined) ? perCounter.flat() : undefined,
  };
};

export const isAsNewAs = (one: ListVersions, other: ListVersions): boolean => {
  for (const [name, version] of other) if ((one.get(name) ?? 0) < version) return false;
  return true;
};
