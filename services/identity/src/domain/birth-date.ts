import { HOUR_MS } from '@fitness/shared/kernel/clock.ts';

/** Nobody alive was born before this date. */
export const EARLIEST_BIRTH_DATE = '1900-01-01';

/** The easternmost time zone, UTC+14. */
const MAX_ZONE_OFFSET_MS = 14 * HOUR_MS;

/** Whether `date`, `YYYY-MM-DD`, is in the future in every time zone. */
export const isInTheFuture = (date: string, now: Date): boolean =>
  date > new Date(now.getTime() + MAX_ZONE_OFFSET_MS).toISOString().slice(0, 10);
