/**
 * The same day and time of the next calendar month, in UTC, or the month's last day if it has no such day. A month from
 * January 31 ends on February 28 or 29.
 */
export const addCalendarMonth = (start: Date): Date => {
  const year = start.getUTCFullYear();
  const month = start.getUTCMonth() + 1;
  const lastDay = new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
  const end = new Date(start.getTime());
  end.setUTCDate(1);
  end.setUTCMonth(month);
  end.setUTCDate(Math.min(start.getUTCDate(), lastDay));
  return end;
};
