/**
 * One read for all callers of a turn of the event loop. Under load several requests are served in one turn, and a query or
 * call costs more than what it reads.
 */
import { outsideRequest } from './request-scope.ts';

/** The result of the read that the caller shares; it may hold more than what the caller has asked for. */
type TurnBatch<Key, Result> = (keys: readonly Key[]) => Promise<Result>;

interface Batch<Key, Result> {
  keys: Set<Key>;
  result: Promise<Result>;
}

/**
 * `load` begins after every call that it answers, so that each caller sees what was committed before it asked. It runs
 * without the deadline of a request, which must not end the read of others, and so needs a limit of its own.
 * @param maxKeys Of one read; more keys of a single caller are read together.
 */
export const createTurnBatch = <Key, Result>(
  load: (keys: Key[]) => Promise<Result>,
  maxKeys = Number.POSITIVE_INFINITY,
): TurnBatch<Key, Result> => {
  let batch: Batch<Key, Result> | undefined;
  const open = (): Batch<Key, Result> => {
    const keys = new Set<Key>();
    const turn = new Promise<void>((resolve) => {
      setImmediate(() => {
        if (batch?.keys === keys) batch = undefined;
        resolve();
      });
    });
    return { keys, result: turn.then(() => load([...keys])) };
  };
  return (keys) => {
    if (batch === undefined || batch.keys.size + keys.length > maxKeys) batch = outsideRequest(open);
    for (const key of keys) batch.keys.add(key);
    return batch.result;
  };
};
