/** A moment in a query string. */
import { says } from '@fitness/shared/http/validation.ts';
import { z } from 'zod';

const FORM = /^(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d:\d\d))?$/;

/** `YYYY-MM-DD` or `YYYY-MM-DD HH:MM:SS` in UTC. A date alone is the start or the end of that day. */
export const moment = (edge: 'start' | 'end') =>
  z
    .string()
    .refine((value) => parse(value, edge) !== undefined, says('validation.timestamp'))
    .transform((value) => parse(value, edge) as Date);

const parse = (value: string, edge: 'start' | 'end'): Date | undefined => {
  const [, day, time] = FORM.exec(value) ?? [];
  if (day === undefined) return undefined;
  // A second that was named belongs to the window to its end.
  const clock = time ?? (edge === 'start' ? '00:00:00' : '23:59:59');
  const date = new Date(`${day}T${clock}.${edge === 'start' ? '000' : '999'}Z`);
  const isReal = !Number.isNaN(date.getTime()) && date.toISOString().startsWith(`${day}T${clock}`);
  // Nothing was paid before 1970, and not every database holds the year 0.
  return isReal ? new Date(Math.max(date.getTime(), 0)) : undefined;
};
