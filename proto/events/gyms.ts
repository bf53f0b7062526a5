/** Events that gyms publishes. */
import { z } from 'zod';
import { defineEvent } from './define-event.ts';

export const gymChanged = defineEvent({
  type: 'gyms.gym.changed',
  summary: 'A gym was created or changed. `user_id` is null while it has no owner.',
  data: z.object({
    gym_id: z.int().positive(),
    name: z.string().nullable(),
    user_id: z.int().positive().nullable(),
    is_active: z.boolean(),
  }),
  consumers: ['content'],
});

export const gymDeleted = defineEvent({
  type: 'gyms.gym.deleted',
  summary: 'A gym was deleted; its ratings and media are deleted and its boosts end.',
  data: z.object({ gym_id: z.int().positive() }),
  consumers: ['content', 'gyms', 'media', 'store-billing'],
});

export const gymLicenseReviewed = defineEvent({
  type: 'gyms.gym.license_reviewed',
  summary:
    '`gym_license_approved` changed to true or false (specification 3.2), or an operator has deleted the ' +
    'document by DELETE /media/{id} (`approved` is null); the owner at that moment is notified.',
  data: z.object({
    gym_id: z.int().positive(),
    gym_name: z.string(),
    owner_user_id: z.int().positive(),
    approved: z.boolean().nullable(),
    rejection_reason: z.string().nullable(),
  }),
  consumers: ['identity'],
  personalTo: ({ owner_user_id: ownerId }) => ownerId,
});

export const gymBoostEnded = defineEvent({
  type: 'gyms.gym.boost_ended',
  summary: 'A boost of a gym ended; the owner at that moment is notified.',
  data: z.object({
    boost_id: z.int().positive(),
    gym_id: z.int().positive(),
    gym_name: z.string(),
    owner_user_id: z.int().positive(),
    level: z.int(),
    /** `YYYY-MM-DD HH:MM:SS`, UTC. */
    ended_at: z.string(),
  }),
  consumers: ['identity'],
  personalTo: ({ owner_user_id: ownerId }) => ownerId,
});

export const gymLicenseCleared = defineEvent({
  type: 'gyms.gym.license_cleared',
  summary:
    'The license document of a gym was cleared: media deletes it, and no later one (a document with a ' +
    'larger id was uploaded after the clearing).',
  data: z.object({ gym_id: z.int().positive(), media_id: z.int().positive() }),
  consumers: ['media'],
});
