import { setTimeout as pause } from 'node:timers/promises';

export { pause };

/**
 * @template T
 * @param {Promise<T>} promise
 * @param {number} milliseconds
 * @returns {Promise<T | undefined>} undefined on timeout
 */
export async function within(promise, milliseconds) {
  const timer = new AbortController();
  try {
    return await Promise.race([promise, pause(milliseconds, undefined, { signal: timer.signal })]);
  } finally {
    timer.abort();
  }
}

/** Measures a duration. @returns {() => string} the seconds since this call */
export function stopwatch() {
  const startedAt = performance.now();
  return () => `${((performance.now() - startedAt) / 1000).toFixed(1)} s`;
}
