/** Events that identity publishes. Without `personalTo` they carry no personal data; consumers that need it call identity. */
import { z } from 'zod';
import { defineEvent } from './define-event.ts';

const userId = z.int().positive();
const timestamp = z.string().meta({ description: '`YYYY-MM-DD HH:MM:SS` in UTC' });

export const credentialsRevoked = defineEvent({
  type: 'identity.credentials.revoked',
  summary:
    'The credentials of a user were revoked: their password was changed or reset, their second factor was set up or was ' +
    'removed by an operator, the deletion of their account was scheduled, or it was erased. The session that changed ' +
    'the password or set up the second factor stays valid.',
  advice: 'Forget what you keep about the tokens of the user, and check them again.',
  data: z.object({
    user_id: userId,
    reason: z.string().meta({ description: 'What happened, e.g. `password_changed`' }),
  }),
});

export const accountDeletionRequested = defineEvent({
  type: 'identity.account.deletion_requested',
  summary: 'The deletion of an account was scheduled. Its owner is notified.',
  advice: 'Notify the user. Delete nothing: the deletion may be cancelled.',
  data: z.object({ user_id: userId, deletion_requested_at: timestamp, deletion_scheduled_at: timestamp }),
  consumers: ['identity'],
});

export const accountDeletionCancelled = defineEvent({
  type: 'identity.account.deletion_cancelled',
  summary: 'The scheduled deletion of an account was cancelled. The account is active again.',
  advice: 'Show the account as active again.',
  data: z.object({ user_id: userId }),
});

export const securitySmsRequested = defineEvent({
  type: 'identity.security_sms.requested',
  summary:
    'A user must be notified of a change to their account by SMS. The event carries the phone number, because after a ' +
    'change the previous number is stored nowhere else.',
  advice: 'Send the SMS to the phone that the event names.',
  data: z.object({
    user_id: userId,
    phone: z.string(),
    locale: z.string(),
    notice: z.enum(['password_changed', 'password_reset', 'phone_changed', 'deletion_scheduled']),
    deletion_scheduled_at: timestamp.nullable().meta({
      description: 'Date of the scheduled deletion, `YYYY-MM-DD HH:MM:SS` in UTC; null for other notices',
    }),
  }),
  consumers: ['identity'],
  personalTo: ({ user_id: id }) => id,
});

export const notificationPushRequested = defineEvent({
  type: 'identity.notification.push_requested',
  summary: 'A stored notification must be pushed to a device.',
  advice: 'Push the notification to the device, unless it has been removed.',
  data: z.object({
    user_id: userId,
    notification_id: z.int().positive(),
    device_id: z.int().positive(),
  }),
  consumers: ['identity'],
});

export const notificationEmailRequested = defineEvent({
  type: 'identity.notification.email_requested',
  summary: 'A stored notification must be sent by email.',
  advice: 'Send the email, unless the user has switched it off.',
  data: z.object({
    user_id: userId,
    notification_id: z.int().positive(),
    email: z.string().nullable().meta({
      description:
        'The previous address after a change, which is stored nowhere else; null: the address of the account',
    }),
  }),
  consumers: ['identity'],
  personalTo: ({ user_id: id, email }) => (email === null ? null : id),
});

export const trainerLicenseCleared = defineEvent({
  type: 'identity.trainer_license.cleared',
  summary:
    'The license document of a trainer was cleared. The media service deletes it, and no later one: a document with a ' +
    'larger id was uploaded after the clearing.',
  advice: 'Delete the document that the event names, and no later one.',
  data: z.object({ user_id: userId, media_id: z.int().positive() }),
  consumers: ['media'],
});

export const accountDeleted = defineEvent({
  type: 'identity.account.deleted',
  summary: 'An account was erased. Every service erases or pseudonymizes its part of the data.',
  advice:
    'Erase what you keep about the user, or remove what identifies them where the law requires the rest.',
  data: z.object({
    user_id: userId,
    deleted_at: timestamp,
    is_repeated: z.boolean().optional().meta({
      description:
        'True if a restore has erased the account again; its data is then older than the first erasure',
    }),
  }),
  consumers: ['content', 'gyms', 'identity', 'media', 'store-billing', 'wallet'],
  erases: ({ user_id: id }) => id,
});
