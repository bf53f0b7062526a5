import { messageOf, PartEnded, Stopped } from './failure.mjs';
import { lastLines } from './supervisor.mjs';
import { stopwatch } from './time.mjs';

/** The exit code of a wrong configuration (EX_CONFIG): another start would end the same way. */
const exitConfig = 'exit code 78';
const limit = 5;
const withinMs = 60_000;

/** @param {import('./supervisor.mjs').Child} child @param {string} [remark] */
export const describeEnd = (child, remark = '') =>
  `${child.name} has ended by itself (${child.ended})${remark}. The end of ${child.logFile}:\n${lastLines(child.logFile, 15)}`;

/**
 * Restarts parts that have ended by themselves, and gives up on a part that ends too often. A part under development waits for a
 * change instead.
 * @param {{ log: (line: string) => void, giveUp: (why: string) => void }} options
 * @returns {(child: import('./supervisor.mjs').Child) => Promise<void>}
 */
export function createRestarts({ log, giveUp }) {
  /** Restart times by part name. @type {Map<string, number[]>} */
  const restarts = new Map();
  return async (child) => {
    if (child.restartsOnChange)
      return log(`${child.name} has ended by itself (${child.ended}): it starts again on the next change`);
    const now = performance.now();
    const recent = (restarts.get(child.name) ?? []).filter((time) => now - time < withinMs);
    if (!child.restart || child.ended === exitConfig) return giveUp(describeEnd(child));
    if (recent.length >= limit)
      return giveUp(describeEnd(child, `, although it was started again ${limit} times within a minute`));
    restarts.set(child.name, [...recent, now]);
    log(
      `${child.name} has ended by itself (${child.ended}): starting it again, ${recent.length + 1} of ${limit} times in a minute`,
    );
    const elapsed = stopwatch();
    try {
      await child.restart();
      log(`${child.name} is up again after ${elapsed()}`);
    } catch (error) {
      // If the part ended again, that has already been reported.
      if (error instanceof Stopped || error instanceof PartEnded) return;
      giveUp(messageOf(error));
    }
  };
}
