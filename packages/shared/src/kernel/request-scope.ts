/**
 * The deadline of the current request or call, and whether it has changed anything. The scope follows the request through all
 * asynchronous work that it starts.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { unavailable } from './error.ts';

export interface RequestScope {
  /** When the caller stops waiting, as a value of `performance.now()`. */
  deadline: number;
  /** Whether the request has committed a change, or started one that is finished later. */
  hasEffect: boolean;
}

const storage = new AsyncLocalStorage<RequestScope>();

/** @param durationMs How long the caller waits from now. */
export const createRequestScope = (durationMs = Number.POSITIVE_INFINITY): RequestScope => ({
  deadline: performance.now() + durationMs,
  hasEffect: false,
});

export const currentScope = (): RequestScope | undefined => storage.getStore();

export const runInScope = <T>(scope: RequestScope, fn: () => T): T => storage.run(scope, fn);

/** Runs `fn` without the deadline of the request, for work that undoes or follows it. */
export const outsideRequest = <T>(fn: () => T): T => storage.exit(fn);

/** Milliseconds until the deadline of the request; infinite without one. */
export const remainingMs = (): number =>
  (storage.getStore()?.deadline ?? Number.POSITIVE_INFINITY) - performance.now();

/** Throws `unavailable` after the deadline of the request: its caller may already have a response that nothing was changed. */
export const assertInTime = (): void => {
  if (remainingMs() <= 0) throw unavailable('the deadline of the request has passed');
};

/** Marks the request as having an effect: its failure no longer means that nothing was changed. */
export const effectStarted = (): void => {
  const scope = storage.getStore();
  if (scope !== undefined) scope.hasEffect = true;
};

/** Clears the mark of {@link effectStarted}: the changes were undone, and nothing continues them later. */
export const effectUndone = (): void => {
  const scope = storage.getStore();
  if (scope !== undefined) scope.hasEffect = false;
};
