import { z } from 'zod';

/** A moment in an answer, as the clock's `formatTimestamp` writes it. */
export const timestampSchema = z.string().meta({ description: 'YYYY-MM-DD HH:MM:SS, UTC' });
