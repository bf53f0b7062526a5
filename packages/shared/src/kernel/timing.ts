/** Sleeping, delays between retries, and time limits. */
import { outsideRequest } from './request-scope.ts';

export const sleep = (durationMs: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, durationMs));

/**
 * Exponential backoff with jitter: a random duration from `minMs` to `minMs * 2^attempt`, at most `maxMs`. `attempt`
 * counts from 1. The randomness is not injected: it changes when the next attempt starts, never an outcome.
 */
export const jitteredDelayMs = (attempt: number, minMs: number, maxMs: number): number => {
  const ceiling = Math.min(maxMs, minMs * 2 ** Math.min(attempt, 20));
  return minMs + Math.random() * Math.max(0, ceiling - minMs);
};

/** Whether `work` resolves within `timeoutMs`; rejects when it rejects. Its timer does not keep the process alive. */
export const finishesWithin = async (work: Promise<unknown>, timeoutMs: number): Promise<boolean> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), timeoutMs).unref();
  });
  try {
    return await Promise.race([work.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
};

/**
 * Calls `renew` every `intervalMs` until the returned function is called, for at most `maxDurationMs`: work
 * that hangs loses its lease. A failure is ignored, because the next call follows.
 */
export const keepRenewing = (
  renew: () => Promise<unknown>,
  { intervalMs, maxDurationMs }: { intervalMs: number; maxDurationMs: number },
): (() => void) => {
  const startedAt = performance.now();
  const timer = setInterval(() => {
    if (performance.now() - startedAt > maxDurationMs) clearInterval(timer);
    else outsideRequest(async () => renew()).catch(() => undefined);
  }, intervalMs).unref();
  return () => clearInterval(timer);
};
