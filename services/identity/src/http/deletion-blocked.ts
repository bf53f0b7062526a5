import { BLOCKERS } from '@fitness/contracts/blockers.ts';
import { z } from 'zod';

const extras = Object.assign({}, ...BLOCKERS.map((row) => row.extras.shape)) as z.ZodRawShape;

export const blockerSchema = z
  .object({
    code: z.enum(BLOCKERS.map(({ code }) => code)).meta({ description: 'What blocks the deletion' }),
    message: z.string().meta({ description: 'What blocks the deletion, in the language of the request' }),
  })
  .extend(z.object(extras).partial().shape)
  .meta({ id: 'DeletionBlocker' });

/** The 409 of specification 4.1, rule 5. */
export const deletionBlockedSchema = z
  .object({
    error: z.string(),
    code: z.enum(['account_deletion_blocked']),
    blockers: z.array(blockerSchema).meta({ description: 'Everything that blocks the deletion' }),
  })
  .meta({ id: 'DeletionBlocked' });
