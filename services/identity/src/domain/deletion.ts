/** The dates of a self-service deletion (specification 3.1). */
import { DAY_MS, formatTimestamp, SECOND_MS } from '@fitness/shared/kernel/clock.ts';

export interface DeletionDates {
  requestedAt: Date;
  scheduledAt: Date;
}

/** Rounded down to whole seconds, the precision of public timestamps. */
export const scheduleDeletion = (now: Date, graceDays: number): DeletionDates => {
  const requestedAt = new Date(wholeSeconds(now.getTime()));
  return { requestedAt, scheduledAt: new Date(wholeSeconds(requestedAt.getTime() + graceDays * DAY_MS)) };
};

const wholeSeconds = (ms: number): number => Math.floor(ms / SECOND_MS) * SECOND_MS;

/** The new date of a blocked deletion: whole days later, and the first one after `now`. */
export const postponeDeletion = (scheduledAt: Date, now: Date): Date => {
  const lateMs = Math.max(0, now.getTime() - scheduledAt.getTime());
  return new Date(scheduledAt.getTime() + (Math.floor(lateMs / DAY_MS) + 1) * DAY_MS);
};

/** The dates of a pending deletion as shown in responses and events: `YYYY-MM-DD HH:MM:SS`, UTC. */
export interface DeletionSchedule {
  deletion_requested_at: string;
  deletion_scheduled_at: string;
}

export const toDeletionSchedule = ({ requestedAt, scheduledAt }: DeletionDates): DeletionSchedule => ({
  deletion_requested_at: formatTimestamp(requestedAt),
  deletion_scheduled_at: formatTimestamp(scheduledAt),
});
