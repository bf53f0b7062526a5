/** The media resource (specification 2.7). */
import type { MediaRow__Output } from '@fitness/proto/gen/fitness/media/v1/MediaRow.ts';
import { z } from 'zod';
import { timestampSchema } from './timestamp.ts';

export const mediaSchema = z
  .object({
    id: z.int(),
    attachable_type: z.string().meta({ description: 'A model name, e.g. App\\Models\\Posts\\Post' }),
    attachable_id: z.int(),
    link: z.string(),
    filename: z.string(),
    mime_type: z.string(),
    size: z.int().meta({ description: 'Bytes' }),
    purpose: z.string().nullable().meta({ description: 'null in every public list' }),
    created_at: timestampSchema,
  })
  .meta({ id: 'Media' });

export type MediaResource = z.output<typeof mediaSchema>;

/** Other services get public media only, which have no purpose. */
export const fromMediaMessage = (row: MediaRow__Output): MediaResource => ({
  id: row.id,
  attachable_type: row.attachable_type,
  attachable_id: row.attachable_id,
  link: row.link,
  filename: row.filename,
  mime_type: row.mime_type,
  size: row.size,
  purpose: null,
  created_at: row.created_at,
});
