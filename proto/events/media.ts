/** Events that media publishes. */
import { z } from 'zod';
import { defineEvent } from './define-event.ts';

const row = z.object({
  media_id: z.int().positive(),
  attachable_type: z
    .string()
    .meta({ description: 'Model name of the target, e.g. `App\\Models\\Gyms\\Gym`' }),
  attachable_id: z.int().positive(),
  purpose: z
    .string()
    .nullable()
    .meta({ description: 'What a private document is for; null for a public file' }),
  filename: z.string(),
  uploaded_by: z
    .int()
    .positive()
    .nullable()
    .optional()
    .meta({ description: 'User id of the uploader; null once their account is erased' }),
});

/** The account that a file belongs to. File names may be personal data. */
const personalTo = (file: z.output<typeof row>): number | null =>
  file.attachable_type === 'App\\Models\\User' ? file.attachable_id : (file.uploaded_by ?? null);

export const mediaAttached = defineEvent({
  type: 'media.media.attached',
  summary:
    'A file was uploaded and attached to a target. Of two documents with the same target and purpose, the one with the ' +
    'larger id is newer.',
  advice: 'Use the file, unless you know one with a larger id for the same target and purpose.',
  data: row,
  consumers: ['content', 'gyms', 'identity'],
  personalTo,
});

export const mediaDeleted = defineEvent({
  type: 'media.media.deleted',
  summary: 'A file was deleted, cleared, or replaced by a newer document.',
  advice: 'Stop showing the file and remove its link.',
  data: row.extend({
    by_operator: z.boolean().optional().meta({
      description: 'True if anyone but the owner of the target deleted it with `DELETE /media/{id}`',
    }),
  }),
  consumers: ['content', 'gyms', 'identity'],
  personalTo,
});
