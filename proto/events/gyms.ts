/** Events that gyms publishes. */
import { z } from 'zod';
import { defineEvent } from './define-event.ts';

export const gymChanged = defineEvent({
  type: 'gyms.gym.changed',
  summary: 'A gym was created or changed.',
  advice: 'Replace what you keep of the gym, unless your copy has a larger `aggregateversion`.',
  data: z.object({
    gym_id: z.int().positive(),
    name: z.string().nullable(),
    user_id: z.int().positive().nullable().meta({ description: 'The owner; null if the gym has none' }),
    is_active: z.boolean(),
  }),
  consumers: ['content'],
});

export const gymDeleted = defineEvent({
  type: 'gyms.gym.deleted',
  summary: 'A gym was deleted. Its ratings, media and posts are deleted and its boosts end.',
  advice: 'Delete what belongs to the gym, and end its boosts.',
  data: z.object({ gym_id: z.int().positive() }),
  consumers: ['content', 'gyms', 'media', 'store-billing'],
});

export const gymLicenseReviewed = defineEvent({
  type: 'gyms.gym.license_reviewed',
  summary:
    'The license of a gym was approved or rejected, or an operator deleted the document with `DELETE /media/{id}`. The ' +
    'owner of the gym at that moment is notified.',
  advice: 'Notify the owner that the event names, once for each `id`.',
  data: z.object({
    gym_id: z.int().positive(),
    gym_name: z.string(),
    owner_user_id: z.int().positive(),
    approved: z.boolean().nullable().meta({ description: 'Null: an operator deleted the document' }),
    rejection_reason: z.string().nullable(),
  }),
  consumers: ['identity'],
  personalTo: ({ owner_user_id: ownerId }) => ownerId,
});

export const gymBoostEnded = defineEvent({
  type: 'gyms.gym.boost_ended',
  summary: 'The boost of a gym ended. The owner of the gym at that moment is notified.',
  advice: 'Notify the owner that the event names, once for each `id`.',
  data: z.object({
    boost_id: z.int().positive(),
    gym_id: z.int().positive(),
    gym_name: z.string(),
    owner_user_id: z.int().positive(),
    level: z.int().meta({ description: '1: basic, 2: pro' }),
    ended_at: z.string().meta({ description: '`YYYY-MM-DD HH:MM:SS` in UTC' }),
  }),
  consumers: ['identity'],
  personalTo: ({ owner_user_id: ownerId }) => ownerId,
});

export const gymLicenseCleared = defineEvent({
  type: 'gyms.gym.license_cleared',
  summary:
    'The license document of a gym was cleared. The media service deletes it, and no later one: a document with a larger ' +
    'id was uploaded after the clearing.',
  advice: 'Delete the document that the event names, and no later one.',
  data: z.object({ gym_id: z.int().positive(), media_id: z.int().positive() }),
  consumers: ['media'],
});
