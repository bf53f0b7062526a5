import { formatTimestamp } from '@fitness/shared/clock.ts';
import { z } from 'zod';
import type { MediaRow } from '../domain/media.ts';

export const mediaSchema = z
  .object({
    id: z.int(),
    attachable_type: z.string(),
    attachable_id: z.int(),
    link: z.string(),
    filename: z.string(),
    mime_type: z.string(),
    size: z.int(),
    purpose: z.string().nullable(),
    created_at: z.string(),
  })
  .meta({ id: 'Media' });

/** The path that serves a row; the name at its end is cosmetic. */
export const mediaPath = ({ _id, filename }: Pick<MediaRow, '_id' | 'filename'>): string =>
  `/api/v1/media/${_id}/${encodeURIComponent(filename)}`;

export const toMedia = (row: MediaRow, baseUrl: string): z.output<typeof mediaSchema> => ({
  id: row._id,
  attachable_type: row.attachable_type,
  attachable_id: row.attachable_id,
  link: `${baseUrl}${mediaPath(row)}`,
  filename: row.filename,
  mime_type: row.mime_type,
  size: row.size,
  purpose: row.purpose,
  created_at: formatTimestamp(row.created_at),
});
