import { z } from 'zod';

export const conflictSchema = z.object({ message: z.string() }).meta({ id: 'Conflict' });
