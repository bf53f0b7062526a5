import { timestampSchema } from '@fitness/contracts/timestamp.ts';
import { z } from 'zod';
import { PROVIDER_ERROR } from '../app/provider-error.ts';
import { DISPUTE_OUTCOMES } from '../domain/payment.ts';

/** The 500 response when the bank gateway gave no usable response. */
export const providerErrorSchema = z
  .object({ message: z.string(), code: z.enum([PROVIDER_ERROR]).optional() })
  .meta({ id: 'ProviderError' });

const decided = {
  settled_by: z
    .int()
    .nullable()
    .optional()
    .meta({ description: 'User id of the operator who has decided; null if unknown' }),
  settled_at: timestampSchema
    .nullable()
    .optional()
    .meta({ description: 'When it was decided; null if unknown' }),
};

const claim = {
  claimed_by: z.int().meta({ description: 'User id of the operator who has claimed it' }),
  claimed_until: timestampSchema.meta({ description: 'When the claim ends' }),
};

/** 409 for a withdrawal that another operator has claimed. */
export const claimedSchema = z
  .object({ message: z.string(), code: z.enum(['payments.claimed']), ...claim })
  .meta({ id: 'ClaimConflict' });

/** 409 for a withdrawal that is settled or claimed. */
export const settledSchema = z
  .object({
    message: z.string(),
    code: z.enum(['payments.already_settled', 'payments.claimed']),
    ...decided,
    outcome: z.enum(['paid', 'rejected']).optional().meta({ description: 'How it was settled' }),
    reference: z
      .string()
      .nullable()
      .optional()
      .meta({ description: 'The bank’s reference number of the transfer; null if there is none' }),
    claimed_by: claim.claimed_by.optional(),
    claimed_until: claim.claimed_until.optional(),
  })
  .meta({ id: 'WithdrawalConflict' });

/** 409 for a deposit that is not disputed, or was resolved by another decision, which has a `code`. */
export const resolvedSchema = z
  .object({
    message: z.string(),
    code: z.enum(['payments.already_settled']).optional(),
    ...decided,
    outcome: z.enum(DISPUTE_OUTCOMES).optional().meta({ description: 'How it was resolved' }),
    note: z
      .string()
      .nullable()
      .optional()
      .meta({ description: 'The operator’s reason; null once the account is erased' }),
  })
  .meta({ id: 'ResolutionConflict' });
