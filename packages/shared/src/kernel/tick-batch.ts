/**
 * One read for all callers in a tick of the event loop. Under load several requests are served in one tick, and a query or
 * call costs more than the rows that it reads.
 */
import { outsideRequest } from './request-scope.ts';

/** Resolves with the result of the shared read, which may hold more than the requested keys. */
type TickBatch<Key, Result> = (keys: readonly Key[]) => Promise<Result>;

interface Batch<Key, Result> {
  keys: Set<Key>;
  result: Promise<Result>;
}

/**
 * `load` begins after every call that it serves, so each caller sees what was committed before its call. It runs
 * without the deadline of a request, which must not end a read that others share. `load` therefore needs a time
 * limit.
 * @param maxKeys The most keys in one read; more keys of a single caller are still read together.
 */
export const createTickBatch = <Key, Result>(
  load: (keys: Key[]) => Promise<Result>,
  maxKeys = Number.POSITIVE_INFINITY,
): TickBatch<Key, Result> => {
  let batch: Batch<Key, Result> | undefined;
  const open = (): Batch<Key, Result> => {
    const keys = new Set<Key>();
    const tick = new Promise<void>((resolve) => {
      setImmediate(() => {
        if (batch?.keys === keys) batch = undefined;
        resolve();
      });
    });
    return { keys, result: tick.then(() => load([...keys])) };
  };
  return (keys) => {
    if (batch === undefined || batch.keys.size + keys.length > maxKeys) batch = outsideRequest(open);
    for (const key of keys) batch.keys.add(key);
    return batch.result;
  };
};
