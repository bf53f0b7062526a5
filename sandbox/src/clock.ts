/** The clock of a demo: the system clock plus the time that `PUT /_sandbox/clock` has added. */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { type Clock, DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '@fitness/shared/kernel/clock.ts';
import { finishesWithin } from '@fitness/shared/kernel/timing.ts';

const UNIT_MS: Readonly<Record<string, number>> = { s: SECOND_MS, m: MINUTE_MS, h: HOUR_MS, d: DAY_MS };
const DURATION = /^([1-9]\d{0,8})([smhd])$/;
/** Ten years. Years keep four digits, and durations stay within what the databases can store. */
const MAX_ADVANCED_MS = 3_650 * DAY_MS;
/** The processes of the product follow within a second. */
const FOLLOW_MS = SECOND_MS;

/** Milliseconds of a duration such as `14d`; undefined for any other text. */
export const durationMs = (text: string): number | undefined => {
  const [, count, unit = ''] = DURATION.exec(text) ?? [];
  const unitMs = UNIT_MS[unit];
  return count === undefined || unitMs === undefined ? undefined : Number(count) * unitMs;
};

export interface SandboxClock extends Clock {
  advancedMs(): number;
  /**
   * Resolves when every waiting process has polled again, or after a second. False if the clock would be more than ten
   * years ahead.
   */
  advance(byMs: number): Promise<boolean>;
  /** Advances to a total of `totalMs`, like {@link SandboxClock.advance}. */
  advanceTo(totalMs: number): Promise<boolean>;
  /** Resolves when the advance differs from `afterMs`, or after `timeoutMs`. */
  advanced(afterMs: number, timeoutMs: number): Promise<void>;
}

/** `file` preserves the advance across restarts, because stored dates depend on it. */
export const createSandboxClock = (system: Clock, file?: string): SandboxClock => {
  let advancedMs = file === undefined ? 0 : readAdvance(file);
  const waiting = new Set<() => void>();
  let followers: { left: number; done: () => void } | undefined;

  const advanceTo = async (totalMs: number): Promise<boolean> => {
    if (totalMs > MAX_ADVANCED_MS) return false;
    if (totalMs <= advancedMs) return true;
    if (file !== undefined) writeAdvance(file, totalMs);
    advancedMs = totalMs;
    const released = [...waiting];
    const { promise, resolve } = Promise.withResolvers<void>();
    followers = { left: released.length, done: resolve };
    for (const release of released) release();
    if (released.length > 0) await finishesWithin(promise, FOLLOW_MS);
    return true;
  };

  return {
    now: () => new Date(system.now().getTime() + advancedMs),
    advancedMs: () => advancedMs,
    advanceTo,
    advance: (byMs) => advanceTo(advancedMs + byMs),
    advanced: async (afterMs, timeoutMs) => {
      if (afterMs !== advancedMs) return;
      if (followers !== undefined) {
        followers.left -= 1;
        if (followers.left === 0) followers.done();
      }
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.add(resolve);
      await finishesWithin(promise, timeoutMs);
      waiting.delete(resolve);
    },
  };
};

/** Milliseconds; 0 if the file cannot be read. */
const readAdvance = (file: string): number => {
  try {
    const advance = Number(readFileSync(file, 'utf8'));
    return Number.isSafeInteger(advance) && advance > 0 ? advance : 0;
  } catch {
    return 0;
  }
};

const writeAdvance = (file: string, advancedMs: number): void => {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(`${file}.new`, `${advancedMs}\n`);
  renameSync(`${file}.new`, file);
};
