/** Events that media tells. */
import { z } from 'zod';
import { defineEvent } from './define-event.ts';

const row = z.object({
  media_id: z.int().positive(),
  attachable_type: z.string(),
  attachable_id: z.int().positive(),
  purpose: z.string().nullable(),
  filename: z.string(),
});

/** A file was uploaded to a target. Of two documents of one target and purpose the larger id is the newer. */
export const mediaAttached = defineEvent({ type: 'media.media.attached', data: row });

/** A file is gone: deleted, cleared, or replaced by a newer document. */
export const mediaDeleted = defineEvent({ type: 'media.media.deleted', data: row });
