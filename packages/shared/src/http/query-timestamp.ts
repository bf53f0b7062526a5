import { z } from 'zod';
import { documentedAs, withMessage } from '../kernel/refinements.ts';

const FORM = /^(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d:\d\d))?$/;

/** A query parameter `YYYY-MM-DD` or `YYYY-MM-DD HH:MM:SS` in UTC. A date alone is the start or the end of that day. */
export const queryTimestamp = (edge: 'start' | 'end') =>
  documentedAs(
    z
      .string()
      .refine((value) => parse(value, edge) !== undefined, withMessage('validation.timestamp'))
      .transform((value) => parse(value, edge) as Date),
    { type: 'string', pattern: FORM.source },
  );

const parse = (value: string, edge: 'start' | 'end'): Date | undefined => {
  const [, day, time] = FORM.exec(value) ?? [];
  if (day === undefined) return undefined;
  // The end of the period includes its whole last second.
  const timeOfDay = time ?? (edge === 'start' ? '00:00:00' : '23:59:59');
  const date = new Date(`${day}T${timeOfDay}.${edge === 'start' ? '000' : '999'}Z`);
  const isCalendarTime =
    !Number.isNaN(date.getTime()) && date.toISOString().startsWith(`${day}T${timeOfDay}`);
  // Not every database accepts the year 0; nothing is older than 1970.
  return isCalendarTime ? new Date(Math.max(date.getTime(), 0)) : undefined;
};
