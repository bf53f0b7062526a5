import { z } from 'zod';

/** A timestamp in a response, written by `formatTimestamp` (kernel/clock.ts). */
export const timestampSchema = z.string().meta({ description: '`YYYY-MM-DD HH:MM:SS` in UTC' });
