/** Events that gyms tells. */
import { z } from 'zod';
import { defineEvent } from './define-event.ts';

/** A gym was created or changed; what others keep of it. `user_id` is null while it has no owner. */
export const gymChanged = defineEvent({
  type: 'gyms.gym.changed',
  data: z.object({
    gym_id: z.int().positive(),
    name: z.string().nullable(),
    user_id: z.int().positive().nullable(),
    is_active: z.boolean(),
  }),
});

/** A gym is gone; what hangs on it goes too. */
export const gymDeleted = defineEvent({
  type: 'gyms.gym.deleted',
  data: z.object({ gym_id: z.int().positive() }),
});

/** `gym_license_approved` changed to true or false (specification 3.2); the owner at that moment is told. */
export const gymLicenseReviewed = defineEvent({
  type: 'gyms.gym.license_reviewed',
  data: z.object({
    gym_id: z.int().positive(),
    gym_name: z.string(),
    owner_user_id: z.int().positive(),
    approved: z.boolean(),
    rejection_reason: z.string().nullable(),
  }),
  personalTo: ({ owner_user_id: ownerId }) => ownerId,
});

/**
 * The licence document of a gym was cleared: media deletes it, and no later one (a document with a larger id was
 * uploaded after the clearing).
 */
export const gymLicenseCleared = defineEvent({
  type: 'gyms.gym.license_cleared',
  data: z.object({ gym_id: z.int().positive(), media_id: z.int().positive() }),
});
