/** Nobody alive was born before; an earlier date is a slip. */
export const EARLIEST_BIRTH_DATE = '1900-01-01';

/** `date` is `YYYY-MM-DD`. Compared with the latest day that it is anywhere on earth. */
export const isInTheFuture = (date: string, now: Date): boolean => {
  const LATEST_ZONE_MS = 14 * 3_600_000;
  return date > new Date(now.getTime() + LATEST_ZONE_MS).toISOString().slice(0, 10);
};
