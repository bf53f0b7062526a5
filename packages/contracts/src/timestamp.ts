import { z } from 'zod';

/** `YYYY-MM-DD HH:MM:SS` */
export const TIMESTAMP_PATTERN = String.raw`^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$`;

/**
 * A timestamp in a response, written by `formatTimestamp` (kernel/clock.ts). The API document adds the format to its
 * description.
 */
export const timestampSchema = z.string().meta({ pattern: TIMESTAMP_PATTERN });
