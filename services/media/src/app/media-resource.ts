import { type MediaResource, mediaSchema } from '@fitness/contracts/media.ts';
import { mediaLink } from '@fitness/contracts/media-copy.ts';
import { formatTimestamp } from '@fitness/shared/kernel/clock.ts';
import type { Logger } from '@fitness/shared/kernel/log.ts';
import type { MediaRow } from '../domain/media.ts';

/** Only the fields of `mediaSchema`: the schema drops every other field of the row. */
export const toMedia = (row: MediaRow, baseUrl: string): MediaResource =>
  mediaSchema.parse({
    ...row,
    id: row._id,
    link: mediaLink(baseUrl, { id: row._id, filename: row.filename }),
    created_at: formatTimestamp(row.created_at),
  });

/** A malformed row is logged and left out: the others are still shown. */
export const toMediaList = (rows: readonly MediaRow[], baseUrl: string, log: Logger): MediaResource[] =>
  rows.flatMap((row) => {
    try {
      return [toMedia(row, baseUrl)];
    } catch (error) {
      log.error({ err: error, media_id: row._id }, 'a malformed row is not shown');
      return [];
    }
  });
