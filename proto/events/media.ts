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

export const mediaAttached = defineEvent({ type: 'media.media.attached', data: row });

export const mediaDeleted = defineEvent({ type: 'media.media.deleted', data: row });
