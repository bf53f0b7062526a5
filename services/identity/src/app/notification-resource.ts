/** The notification resource. Its texts are made when it is read, in the language of the reader. */
import { formatTimestamp, formatTimestampOrNull } from '@fitness/shared/kernel/clock.ts';
import { message } from '@fitness/shared/kernel/error.ts';
import type { MessageKey } from '@fitness/shared/kernel/i18n/catalogue.ts';
import type { Translate } from '@fitness/shared/kernel/i18n/translate.ts';
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
      'deposit_credited',
      'withdrawal_paid',
      'withdrawal_rejected',
    ]),
    title: z.string(),
    body: z.string(),
    data: z.record(z.string(), z.unknown()),
    read_at: z.string().nullable(),
    created_at: z.string(),
  })
  .meta({ id: 'Notification' });

type NotificationResource = z.output<typeof notificationSchema>;
export type NotificationType = NotificationResource['type'];

/** A review has one text for each outcome; the other types have one text. */
const textKey = (row: NotificationRow): string => {
  const isReview = row.type === 'gym_license_reviewed' || row.type === 'trainer_license_reviewed';
  if (!isReview) return `notification.${row.type}`;
  return `notification.${row.type}.${row.data.approved === true ? 'approved' : 'rejected'}`;
};

const textParams = (data: Record<string, unknown>): Record<string, string | number> => {
  const simple = Object.entries(data).filter((entry): entry is [string, string | number] =>
    ['string', 'number'].includes(typeof entry[1]),
  );
  return { reason: '', ...Object.fromEntries(simple) };
};

export const toNotification = (row: NotificationRow, t: Translate): NotificationResource => {
  const key = textKey(row);
  const params = textParams(row.data);
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
