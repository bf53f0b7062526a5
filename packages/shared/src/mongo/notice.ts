/** Logs that a start is waiting, which may take minutes or hours. */
import { SECOND_MS } from '../kernel/clock.ts';
import type { Logger } from '../kernel/log.ts';

export interface Notice {
  log: Logger;
  /** Milliseconds between two lines. Default 10 s. */
  everyMs?: number | undefined;
}

const NOTICE_MS = 10 * SECOND_MS;

/** Logs `text` repeatedly until `work` ends, with `facts` and the elapsed time. */
export const withNotice = async <T>(
  notice: Notice | undefined,
  facts: object,
  text: string,
  work: () => Promise<T>,
): Promise<T> => {
  const startedAt = performance.now();
  const timer = setInterval(() => {
    const seconds = Math.round((performance.now() - startedAt) / SECOND_MS);
    notice?.log.warn({ ...facts, seconds }, text);
  }, notice?.everyMs ?? NOTICE_MS).unref();
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
};
