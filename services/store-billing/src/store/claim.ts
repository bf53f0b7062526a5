/**
 * Taking a row for the background. A transaction of a dead process keeps what it had written locked for up to a minute;
 * such a row is not waited for, so that it does not hold up the others.
 */
import { SECOND_MS } from '@fitness/shared/clock.ts';

export const CLAIM_WAIT_MS = SECOND_MS;
const MAX_TIME_EXPIRED = 50;

/** For the `catch` of a claim: what stands for "nothing was claimed". */
export const nothingWhenLate =
  <Nothing>(nothing: Nothing) =>
  (error: unknown): Nothing => {
    if ((error as { code?: unknown }).code === MAX_TIME_EXPIRED) return nothing;
    throw error;
  };
