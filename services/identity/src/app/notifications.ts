/**
 * Notifications: delivered from events, once each, and read in the reader's language: the text is made when it is read.
 */
import { type Clock, formatTimestamp, formatTimestampOrNull } from '@fitness/shared/clock.ts';
import { message, notFound } from '@fitness/shared/error.ts';
import type { PageOf, PageRequest } from '@fitness/shared/http/pagination.ts';
import type { MessageKey } from '@fitness/shared/i18n/catalogue.ts';
import type { Translate } from '@fitness/shared/i18n/translate.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Sequences } from '@fitness/shared/mongo/sequence.ts';
import { z } from 'zod';
import type { NotificationRow, NotificationStore } from '../store/notifications.ts';
import type { UserStore } from '../store/users.ts';

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

type NotificationType = z.output<typeof notificationSchema>['type'];

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

export interface Notifications {
  /** In the transaction of what it tells of. An account that is erased gets none: the news came too late. */
  deliver(
    session: ClientSession,
    to: { userId: number; type: NotificationType; data: Record<string, unknown>; at: Date },
  ): Promise<void>;
  list(userId: number, request: PageRequest): Promise<{ page: PageOf<NotificationRow>; unread: number }>;
  /** 404 for somebody else's. */
  markRead(userId: number, id: number): Promise<NotificationRow>;
}

export interface NotificationParts {
  store: NotificationStore;
  users: Pick<UserStore, 'pin'>;
  sequences: Sequences;
  clock: Clock;
}

export const createNotifications = ({
  store,
  users,
  sequences,
  clock,
}: NotificationParts): Notifications => ({
  deliver: async (session, { userId, type, data, at }) => {
    if (!(await users.pin(session, userId))) return;
    const id = await sequences.next('notifications');
    await store.insert(session, { _id: id, user_id: userId, type, data, created_at: at, read_at: null });
  },
  list: async (userId, request) => {
    const page = await store.list(userId, request);
    return { page, unread: await store.unreadCount(userId) };
  },
  markRead: async (userId, id) => {
    const row = await store.markRead(userId, id, clock.now());
    if (row === null) throw notFound();
    return row;
  },
});
