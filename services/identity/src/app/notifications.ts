/** Notifications as their reader sees them: the text is made when it is read, in the reader's language. */
import { formatTimestamp, formatTimestampOrNull } from '@fitness/shared/clock.ts';
import { message } from '@fitness/shared/error.ts';
import type { MessageKey, Translate } from '@fitness/shared/i18n/translate.ts';
import { z } from 'zod';
import type { NotificationRow } from '../store/notifications.ts';

export const notificationSchema = z
  .object({
    id: z.int(),
    type: z.enum([
      'account_deletion_requested',
      'account_deletion_postponed',
      'gym_license_reviewed',
      'trainer_license_reviewed',
    ]),
    title: z.string(),
    body: z.string(),
    data: z.record(z.string(), z.unknown()),
    read_at: z.string().nullable(),
    created_at: z.string(),
  })
  .meta({ id: 'Notification' });

export type NotificationType = z.output<typeof notificationSchema>['type'];

/** Reviews read differently by their outcome; the others have one text. */
const textKey = (row: NotificationRow): string => {
  const reviewed = row.type === 'gym_license_reviewed' || row.type === 'trainer_license_reviewed';
  if (!reviewed) return `notification.${row.type}`;
  return `notification.${row.type}.${row.data.approved === true ? 'approved' : 'rejected'}`;
};

const paramsOf = (data: Record<string, unknown>): Record<string, string | number> => {
  const simple = Object.entries(data).filter((entry): entry is [string, string | number] =>
    ['string', 'number'].includes(typeof entry[1]),
  );
  return { reason: '', ...Object.fromEntries(simple) };
};

export const toNotification = (row: NotificationRow, t: Translate): z.output<typeof notificationSchema> => {
  const key = textKey(row);
  const params = paramsOf(row.data);
  return {
    id: row._id,
    type: row.type as NotificationType,
    title: t(message(`${key}.title` as MessageKey, params)),
    body: t(message(`${key}.body` as MessageKey, params)).trim(),
    data: row.data,
    read_at: formatTimestampOrNull(row.read_at),
    created_at: formatTimestamp(row.created_at),
  };
};
