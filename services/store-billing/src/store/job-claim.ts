/**
 * Claims of rows by jobs. The transaction of a crashed process keeps its rows locked for up to a minute. A claim does not
 * wait for such a row, so the job continues with the others.
 */
import { SECOND_MS } from '@fitness/shared/kernel/clock.ts';

/** The `maxTimeMS` of a claim. */
export const CLAIM_WAIT_MS = SECOND_MS;
const MAX_TIME_EXPIRED = 50;

/** Error handler of a claim: returns `notClaimed` after a timeout, rethrows any other error. */
export const whenTimedOut =
  <NotClaimed>(notClaimed: NotClaimed) =>
  (error: unknown): NotClaimed => {
    if ((error as { code?: unknown }).code === MAX_TIME_EXPIRED) return notClaimed;
    throw error;
  };
