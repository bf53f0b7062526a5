import { isOneLine, wellFormed, withMessage } from '@fitness/shared/kernel/refinements.ts';
import { z } from 'zod';

const MAX_LENGTH = 500;

/** A user's description of a payment, on one line: a deposit gets the gateway's reference as a second line. */
export const description = wellFormed(z.string().max(MAX_LENGTH))
  .transform((value) => value.replaceAll(/[\s\p{Cc}]+/gu, ' ').trim())
  .refine((value) => value === '' || isOneLine(value), withMessage('validation.one_line'))
  .nullish()
  .meta({
    description:
      'Text that describes the payment, on one line: line breaks and control characters become spaces. If it is ' +
      'missing or empty, a default text is stored.',
  });
