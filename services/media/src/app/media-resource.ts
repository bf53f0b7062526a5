import { formatTimestamp } from '@fitness/shared/clock.ts';
import type { MediaResource } from '@fitness/shared/resources/media.ts';
import type { MediaRow } from '../domain/media.ts';

/** The path that serves a row; the name at its end is cosmetic. */
const mediaPath = ({ _id, filename }: Pick<MediaRow, '_id' | 'filename'>): string =>
  `/api/v1/media/${_id}/${encodeURIComponent(filename)}`;

export const toMedia = (row: MediaRow, baseUrl: string): MediaResource => ({
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
