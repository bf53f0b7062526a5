/** Events that identity publishes. Without `personalTo` they carry no personal data: a consumer that needs it asks identity. */
import { z } from 'zod';
import { defineEvent } from './define-event.ts';

const userId = z.int().positive();
const timestamp = z.string();

export const credentialsRevoked = defineEvent({
  type: 'identity.credentials.revoked',
  summary:
    'All credentials of the user were revoked, except the one that has asked for it: password change or ' +
    'reset, second factor set up or removed by an operator, deletion scheduling, erasure.',
  data: z.object({ user_id: userId, reason: z.string() }),
});

export const accountDeletionRequested = defineEvent({
  type: 'identity.account.deletion_requested',
  summary: 'A deletion was scheduled (specification 3.1). Timestamps are `YYYY-MM-DD HH:MM:SS`, UTC.',
  data: z.object({ user_id: userId, deletion_requested_at: timestamp, deletion_scheduled_at: timestamp }),
  consumers: ['identity'],
});

export const accountDeletionCancelled = defineEvent({
  type: 'identity.account.deletion_cancelled',
  summary: 'A scheduled deletion was cancelled; the account is active again.',
  data: z.object({ user_id: userId }),
});

export const securitySmsRequested = defineEvent({
  type: 'identity.security_sms.requested',
  summary:
    'The owner of an account is to be told by SMS. It carries the phone, because after a change of the ' +
    'phone the previous one is stored nowhere else.',
  data: z.object({
    user_id: userId,
    phone: z.string(),
    locale: z.string(),
    notice: z.enum(['password_changed', 'password_reset', 'phone_changed', 'deletion_scheduled']),
    /** Of a scheduled deletion. */
    deletion_scheduled_at: timestamp.nullable(),
  }),
  consumers: ['identity'],
  personalTo: ({ user_id: id }) => id,
});

export const notificationPushRequested = defineEvent({
  type: 'identity.notification.push_requested',
  summary: 'A stored notification is to be pushed to one device.',
  data: z.object({
    user_id: userId,
    notification_id: z.int().positive(),
    device_id: z.int().positive(),
  }),
  consumers: ['identity'],
});

export const notificationEmailRequested = defineEvent({
  type: 'identity.notification.email_requested',
  summary: 'A stored notification is to be sent by e-mail.',
  data: z.object({
    user_id: userId,
    notification_id: z.int().positive(),
    /** The previous address after a change of it, which is stored nowhere else; null for that of the account. */
    email: z.string().nullable(),
  }),
  consumers: ['identity'],
  personalTo: ({ user_id: id, email }) => (email === null ? null : id),
});

export const trainerLicenseCleared = defineEvent({
  type: 'identity.trainer_license.cleared',
  summary:
    'The license document of a trainer was cleared: media deletes it, and no later one (a document with a ' +
    'larger id was uploaded after the clearing).',
  data: z.object({ user_id: userId, media_id: z.int().positive() }),
  consumers: ['media'],
});

export const accountDeleted = defineEvent({
  type: 'identity.account.deleted',
  summary: 'The account was erased: every service erases or pseudonymises its part.',
  data: z.object({ user_id: userId, deleted_at: timestamp }),
  consumers: ['content', 'gyms', 'identity', 'media', 'store-billing', 'wallet'],
  erases: ({ user_id: id }) => id,
});
