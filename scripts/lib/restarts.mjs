import { messageOf, PartEnded, Stopped } from './failure.mjs';
import { lastLines } from './supervisor.mjs';
import { stopwatch } from './time.mjs';

/** The exit code for a wrong configuration (EX_CONFIG): the next start would end in the same way. */
const exitConfig = 'exit code 78';
const limit = 5;
const withinMs = 60_000;

/** @param {import('./supervisor.mjs').Child} child @param {string} [remark] */
export const describeEnd = (child, remark = '') =>
  `${child.name} has ended by itself (${child.ended})${remark}. The end of ${child.logFile}:\n${lastLines(child.logFile, 15)}`;

/**
 * Starts parts again that have ended by themselves, and gives up on one that does so too often.
 * @param {{ log: (line: string) => void, giveUp: (why: string) => void }} options
 * @returns {(child: import('./supervisor.mjs').Child) => Promise<void>}
 */
export function createRestarts({ log, giveUp }) {
  /** Times of the restarts by name. @type {Map<string, number[]>} */
  const restarts = new Map();
  return async (child) => {
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
      // Another end of the part has been reported on its own.
      if (error instanceof Stopped || error instanceof PartEnded) return;
      giveUp(messageOf(error));
    }
  };
}
