/** Bodies that several routes answer with. */
import { z } from 'zod';

/** `{error, code}`: what the specification shapes for these routes. */
export const codedErrorSchema = z.object({ error: z.string(), code: z.string() }).meta({ id: 'CodedError' });
