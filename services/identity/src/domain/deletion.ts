/** The dates of a self-service deletion (specification 3.1). */
import { DAY_MS, SECOND_MS } from '@fitness/shared/clock.ts';

export interface DeletionDates {
  requestedAt: Date;
  scheduledAt: Date;
}

/** Whole seconds, as the public timestamps show them: what is promised is what is stored. */
export const scheduleDeletion = (now: Date, graceDays: number): DeletionDates => {
  const requestedAt = new Date(wholeSeconds(now.getTime()));
  return { requestedAt, scheduledAt: new Date(wholeSeconds(requestedAt.getTime() + graceDays * DAY_MS)) };
};

const wholeSeconds = (ms: number): number => Math.floor(ms / SECOND_MS) * SECOND_MS;

/** Where a blocked deletion goes: by a day, and by as many as it takes where it was found late. */
export const postponeDeletion = (scheduledAt: Date, now: Date): Date => {
  const lateMs = Math.max(0, now.getTime() - scheduledAt.getTime());
  return new Date(scheduledAt.getTime() + (Math.floor(lateMs / DAY_MS) + 1) * DAY_MS);
};
