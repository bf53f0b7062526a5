/**
 * @param {number} milliseconds
 * @returns {Promise<void>}
 */
export const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/**
 * @template T
 * @param {Promise<T>} promise
 * @param {number} milliseconds
 * @returns {Promise<T | undefined>} undefined when the time ran out first
 */
export async function within(promise, milliseconds) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  const timeout = new Promise((resolve) => {
    timer = setTimeout(resolve, milliseconds, undefined);
  });
  try {
    return await Promise.race([promise, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Measures a duration.
 * @returns {() => string} the seconds since the call
 */
export function stopwatch() {
  const startedAt = performance.now();
  return () => `${((performance.now() - startedAt) / 1000).toFixed(1)} s`;
}
