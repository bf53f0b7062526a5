/** What a user writes on a payment. */
import { wellFormed } from '@fitness/shared/http/validation.ts';
import { z } from 'zod';

const MAX_LENGTH = 500;

/** One line: what stands on a line of its own in a deposit's description is the gateway's reference, not the user's. */
export const description = wellFormed(z.string().max(MAX_LENGTH))
  .transform((value) => value.replaceAll(/[\s\p{Cc}]+/gu, ' ').trim())
  .nullish();
