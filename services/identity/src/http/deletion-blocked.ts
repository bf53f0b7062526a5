import { z } from 'zod';

/** The 409 of specification 4.1, rule 5. */
export const deletionBlockedSchema = z
  .object({
    error: z.string(),
    code: z.literal('account_deletion_blocked'),
    blockers: z.array(z.looseObject({ code: z.string(), message: z.string() })),
  })
  .meta({ id: 'DeletionBlocked' });
