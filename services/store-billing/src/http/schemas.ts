/** Bodies that several routes return. */
import { z } from 'zod';

/** Errors with status 400, 404 and 500. */
export const codedErrorSchema = z.object({ error: z.string(), code: z.string() }).meta({ id: 'CodedError' });
