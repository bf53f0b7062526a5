/** Events that identity tells. Personal data never travels in them: a consumer that needs it asks. */
import { z } from 'zod';
import { defineEvent } from './define-event.ts';

const userId = z.int().positive();
const timestamp = z.string();

/** Every credential of the user died at once: password change or reset, deletion scheduling, erasure. */
export const credentialsRevoked = defineEvent({
  type: 'identity.credentials.revoked',
  data: z.object({ user_id: userId, reason: z.string() }),
});

/** A deletion was scheduled (specification 3.1). Timestamps are `YYYY-MM-DD HH:MM:SS`, UTC. */
export const accountDeletionRequested = defineEvent({
  type: 'identity.account.deletion_requested',
  data: z.object({ user_id: userId, deletion_requested_at: timestamp, deletion_scheduled_at: timestamp }),
});

/** A scheduled deletion was cancelled; the account is active again. */
export const accountDeletionCancelled = defineEvent({
  type: 'identity.account.deletion_cancelled',
  data: z.object({ user_id: userId }),
});

/** The account is erased: every service erases or pseudonymises its part (contract 2.2). */
export const accountDeleted = defineEvent({
  type: 'identity.account.deleted',
  data: z.object({ user_id: userId, deleted_at: timestamp }),
  erases: ({ user_id: id }) => id,
});
