/** Events that media publishes. */
import { z } from 'zod';
import { defineEvent } from './define-event.ts';

const row = z.object({
  media_id: z.int().positive(),
  attachable_type: z.string(),
  attachable_id: z.int().positive(),
  purpose: z.string().nullable(),
  filename: z.string(),
  /** null once the user is erased. */
  uploaded_by: z.int().positive().nullable().optional(),
});

/** File names may be personal. */
const personalTo = (file: z.output<typeof row>): number | null =>
  file.attachable_type === 'App\\Models\\User' ? file.attachable_id : (file.uploaded_by ?? null);

export const mediaAttached = defineEvent({
  type: 'media.media.attached',
  summary:
    'A file was uploaded to a target. Of two documents of one target and purpose the larger id is the ' +
    'newer.',
  data: row,
  consumers: ['content', 'gyms', 'identity'],
  personalTo,
});

export const mediaDeleted = defineEvent({
  type: 'media.media.deleted',
  summary: 'A file was deleted, cleared, or replaced by a newer document.',
  data: row.extend({
    /** True: by DELETE /media/{id}, and not by the owner of its target. */
    by_operator: z.boolean().optional(),
  }),
  consumers: ['content', 'gyms', 'identity'],
  personalTo,
});
