import { z } from 'zod';
import { PROVIDER_ERROR } from '../app/provider-error.ts';

/** The 500 response when the bank gateway gave no usable response. */
export const providerErrorSchema = z
  .object({ message: z.string(), code: z.enum([PROVIDER_ERROR]).optional() })
  .meta({ id: 'ProviderError' });

export const conflictSchema = z.object({ message: z.string() }).meta({ id: 'Conflict' });
