import { type MediaResource, mediaSchema } from '@fitness/contracts/media.ts';
import { mediaLink } from '@fitness/contracts/media-copy.ts';
import { formatTimestamp } from '@fitness/shared/kernel/clock.ts';
import type { Logger } from '@fitness/shared/kernel/log.ts';
import type { z } from 'zod';
import type { MediaRow } from '../domain/media.ts';

/** Only the fields of `mediaSchema`: the schema drops every other field of the row. */
export const toMedia = (row: MediaRow, baseUrl: string): MediaResource =>
  mediaSchema.parse({
    ...row,
    id: row._id,
    link: mediaLink(baseUrl, { id: row._id, filename: row.filename }),
    created_at: formatTimestamp(row.created_at),
  });

const fileSchema = mediaSchema.omit({ link: true, purpose: true });
type TargetFile = z.output<typeof fileSchema>;

/** A malformed row is logged and left out, so the others are still shown. */
export const toTargetFiles = (rows: readonly MediaRow[], log: Logger): TargetFile[] =>
  rows.flatMap((row) => {
    try {
      return [fileSchema.parse({ ...row, id: row._id, created_at: formatTimestamp(row.created_at) })];
    } catch (error) {
      log.error({ err: error, media_id: row._id }, 'a malformed row is not shown');
      return [];
    }
  });
