/**
 * The clock of a process beside the sandbox: `PUT /_sandbox/clock` advances all of them. Only what users see depends on it. Deadlines,
 * leases, the messages of the broker and the identities of processes use the system clock.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { type AdvancingClock, SECOND_MS, systemClock } from '../kernel/clock.ts';
import type { Logger } from '../kernel/log.ts';
import { finishesWithin } from '../kernel/timing.ts';
import type { Cleanup } from './lifecycle.ts';

/** Longer than the sandbox keeps a request without news. */
const REQUEST_TIMEOUT_MS = 30 * SECOND_MS;
export const CLOCK_TIMES = {
  /** Each failure in a row adds this to the delay before the next try: a sandbox that restarts is followed soon. */
  retryMs: 200,
  longestRetryMs: 10 * SECOND_MS,
  /** How long a start waits for a sandbox that is still starting. */
  firstAnswerMs: 5 * SECOND_MS,
};
/** They take about as long as a start waits. */
const FAILURES_BEFORE_WARNING = 7;

const answerSchema = z.object({ data: z.object({ advanced_ms: z.int().min(0) }) });

interface ClockConfig {
  SEED_DEMO: boolean;
  SANDBOX_URL?: string | undefined;
}

/** The system clock, or the clock of a configured sandbox. Resolves when it has reached the time of the sandbox. */
export const openClock = async (
  { SEED_DEMO, SANDBOX_URL }: ClockConfig,
  log: Logger,
  cleanup: Cleanup,
  { retryMs, longestRetryMs, firstAnswerMs } = CLOCK_TIMES,
): Promise<AdvancingClock> => {
  if (!SEED_DEMO || SANDBOX_URL === undefined) return systemClock;
  const { clock, startAt, advanceTo } = createAdvancingClock();
  const stopping = new AbortController();
  const started = Promise.withResolvers<void>();

  const follow = async (): Promise<void> => {
    let reached: number | undefined;
    let failures = 0;
    while (!stopping.signal.aborted) {
      try {
        const advancedMs = await read(SANDBOX_URL, reached, stopping.signal);
        if (reached === undefined) startAt(advancedMs);
        else if (advancedMs > reached) advanceTo(advancedMs);
        else if (advancedMs < reached) await report(SANDBOX_URL, reached, stopping.signal);
        reached = Math.max(reached ?? 0, advancedMs);
        failures = 0;
        started.resolve();
      } catch (error) {
        if (stopping.signal.aborted) return;
        failures += 1;
        if (failures === FAILURES_BEFORE_WARNING)
          log.warn({ err: error }, 'the clock of the sandbox cannot be read');
        // Its timer keeps a process alive that has opened nothing else yet.
        const delayMs = Math.min(failures * retryMs, longestRetryMs);
        await sleep(delayMs, undefined, { signal: stopping.signal }).catch(() => undefined);
      }
    }
  };
  const following = follow();
  cleanup.defer('clock of the sandbox', () => {
    stopping.abort();
    return following;
  });
  await finishesWithin(started.promise, firstAnswerMs);
  return clock;
};

/** The sandbox responds at once, or, when it is at `afterMs`, after its next advance. */
const read = async (url: string, afterMs: number | undefined, stopping: AbortSignal): Promise<number> => {
  const query = afterMs === undefined ? '' : `?after_ms=${afterMs}`;
  const response = await fetch(`${url}/_sandbox/clock${query}`, {
    signal: AbortSignal.any([stopping, AbortSignal.timeout(REQUEST_TIMEOUT_MS)]),
  });
  assertOk(response);
  return answerSchema.parse(await response.json()).data.advanced_ms;
};

/** A sandbox that has lost its file begins with 0 again, while the databases have dates of the advanced clock. */
const report = async (url: string, reachedMs: number, stopping: AbortSignal): Promise<void> => {
  const response = await fetch(`${url}/_sandbox/clock/reached`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ advanced_ms: reachedMs }),
    signal: AbortSignal.any([stopping, AbortSignal.timeout(REQUEST_TIMEOUT_MS)]),
  });
  assertOk(response);
};

const assertOk = ({ ok, status }: Response): void => {
  if (!ok) throw new Error(`the sandbox answered ${status}`);
};

const createAdvancingClock = () => {
  let advancedMs = 0;
  /** The oldest first, by the monotonic clock. */
  const advances: { at: number; byMs: number }[] = [];
  const listeners: (() => void)[] = [];
  const clock: AdvancingClock = {
    now: () => new Date(systemClock.now().getTime() + advancedMs),
    advancedWithin: (durationMs) => {
      const since = performance.now() - durationMs;
      return advances.reduce((sum, { at, byMs }) => (at > since ? sum + byMs : sum), 0);
    },
    onAdvance: (listener) => {
      listeners.push(listener);
    },
  };
  return {
    clock,
    /** Sets the start. This is not an advance, because the other processes are there already. */
    startAt: (totalMs: number): void => {
      advancedMs = totalMs;
    },
    advanceTo: (totalMs: number): void => {
      advances.push({ at: performance.now(), byMs: totalMs - advancedMs });
      advancedMs = totalMs;
      for (const listener of listeners) listener();
    },
  };
};
