/**
 * Versions of the rows of a collection, in the counter documents that its lists read for their totals (docs/adr/0101). Every
 * transaction that changes rows increments the version of a counter document and records the changed rows in it. From these, a
 * process that caches rows learns what to read again.
 */

/** The id of a row, or a name of several rows whose meaning the collection knows. */
export type ChangedRow = number | string;

/** The version of each counter document by its id. */
export type ListVersions = ReadonlyMap<number | string, number>;

export interface VersionedCounter {
  _id: number | string;
  /** Missing before the first change. */
  version?: number;
  /** The most recent changes, newest last. */
  changes?: ChangedRow[];
}

export interface ListChanges {
  /** The current versions of the requested documents. */
  versions: ListVersions;
  /** Undefined if the documents no longer have all changes: any row may have changed. */
  changed: ChangedRow[] | undefined;
}

/** Changes that a counter document remembers. */
const CHANGES_MAX = 64;
/** An increment larger than the stored changes, after which any row may have changed. */
const ANY = CHANGES_MAX + 1;

/** The operators that write a change into a counter document, merged with its other increments. Without `changed`: any row. */
export const versionUpdate = (
  changed: readonly ChangedRow[] | undefined,
  increments: Readonly<Record<string, number>> = {},
) => ({
  $inc: { ...increments, version: changed === undefined ? ANY : changed.length },
  ...(changed === undefined ? {} : { $push: { changes: { $each: [...changed], $slice: -CHANGES_MAX } } }),
});

/** A projection without the changes of a counter document, which only an outdated reader needs. */
export const WITHOUT_CHANGES = { changes: 0 } as const;

export const versionsOf = (counters: readonly VersionedCounter[]): ListVersions =>
  new Map(counters.map(({ _id, version = 0 }) => [_id, version]));

/** The changes since these versions. `counters`: the documents that they name, with their changes. */
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
