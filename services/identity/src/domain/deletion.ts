/** The dates of a self-service deletion (specification 3.1). */
import { DAY_MS } from '@fitness/shared/clock.ts';

export interface DeletionDates {
  requestedAt: Date;
  scheduledAt: Date;
}

/** Whole seconds, as the public timestamps show them: what is promised is what is stored. */
export const scheduleDeletion = (now: Date, graceDays: number): DeletionDates => {
  const requestedAt = new Date(Math.floor(now.getTime() / 1_000) * 1_000);
  return { requestedAt, scheduledAt: new Date(requestedAt.getTime() + graceDays * DAY_MS) };
};
