import { formatTimestamp } from '@fitness/shared/kernel/clock.ts';
import type { DeletionDates } from './deletion.ts';

/** The dates of a pending deletion as shown in responses and events: `YYYY-MM-DD HH:MM:SS`, UTC. */
export interface DeletionSchedule {
  deletion_requested_at: string;
  deletion_scheduled_at: string;
}

export const toDeletionSchedule = ({ requestedAt, scheduledAt }: DeletionDates): DeletionSchedule => ({
  deletion_requested_at: formatTimestamp(requestedAt),
  deletion_scheduled_at: formatTimestamp(scheduledAt),
});
