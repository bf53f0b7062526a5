/** The media resource (specification 2.7). */
import { z } from 'zod';
import { timestampSchema } from './timestamp.ts';

export const mediaSchema = z
  .object({
    id: z.int(),
    attachable_type: z
      .string()
      .meta({ description: 'Model name of what the file is attached to, e.g. `App\\Models\\Posts\\Post`' }),
    attachable_id: z.int().meta({ description: 'Id of what the file is attached to' }),
    link: z.string().meta({ description: 'URL of the download' }),
    filename: z.string().meta({ description: 'Name of the file in its link' }),
    mime_type: z.string().meta({ description: 'Media type, e.g. `image/jpeg`' }),
    size: z.int().meta({ description: 'Size in bytes' }),
    purpose: z
      .string()
      .nullable()
      .meta({ description: 'Purpose of a private document, e.g. `gym_license`; null for a public file' }),
    created_at: timestampSchema,
  })
  .meta({ id: 'Media', description: 'An uploaded file' });

export type MediaResource = z.output<typeof mediaSchema>;
