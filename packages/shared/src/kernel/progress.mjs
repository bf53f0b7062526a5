/** Progress of a long command. Plain JavaScript: `npm start` may run under a Node that does not run TypeScript. */

/** `1:05` @param {number} milliseconds */
export function clockOf(milliseconds) {
  const seconds = Math.floor(milliseconds / 1000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}

/** @typedef {{ done: number, total: number, elapsedMs: number }} State */

/**
 * How long the rest takes at the current pace. There is no estimate before a twentieth is done.
 * @param {State} state
 * @returns {number | undefined} undefined before the first twentieth and after the last part
 */
const atPace = ({ done, total, elapsedMs }) =>
  done === 0 || done * 20 < total || done >= total ? undefined : (elapsedMs / done) * (total - done);

/** @param {number | undefined} ms */
const leftOf = (ms) => (ms === undefined ? '' : `about ${clockOf(ms)} left`);

/** `about 1:05 left`, or empty @param {State} state */
export const remaining = (state) => leftOf(atPace(state));

/**
 * @typedef {object} Progress
 * @property {(parts: number, now?: string) => void} expect More parts are to be done; `now`: what is under way.
 * @property {(now: string, parts?: number) => void} advance One part more is done, or `parts`; `now`: what is under way.
 */

/** For callers that show no progress. @type {Progress} */
export const NO_PROGRESS = { expect: () => {}, advance: () => {} };

/** One line per interval suits a file and a terminal. */
const INTERVAL_MS = 3_000;

/**
 * While `work` runs, a line every three seconds says how far it is: `0:06  1200/5000 payments, about 0:19 left`. On stderr, so
 * that the output is the result alone.
 * @template T
 * @param {(progress: Progress) => Promise<T>} work
 * @param {{ write?: (line: string) => void, intervalMs?: number, remainingMs?: (state: State) => number | undefined }} [options]
 *   remainingMs: how long the rest takes, if that is known. The default suits parts that take about the same time.
 * @returns {Promise<T>}
 */
export async function withProgress(
  work,
  {
    write = (line) => process.stderr.write(`${line}\n`),
    intervalMs = INTERVAL_MS,
    remainingMs = atPace,
  } = {},
) {
  const startedAt = performance.now();
  let [done, total, now] = [0, 0, ''];
  const show = () => {
    const elapsedMs = performance.now() - startedAt;
    const count = total === 0 ? 'starting' : `${done}/${Math.max(done, total)} ${now}`.trimEnd();
    const left = leftOf(remainingMs({ done, total, elapsedMs }));
    write(`${clockOf(elapsedMs)}  ${count}${left && `, ${left}`}`);
  };
  const timer = setInterval(show, intervalMs);
  try {
    return await work({
      expect: (parts, next = now) => {
        total += parts;
        now = next;
      },
      advance: (next, parts = 1) => {
        done += parts;
        now = next;
      },
    });
  } finally {
    clearInterval(timer);
  }
}
