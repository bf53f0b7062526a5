/** In-app notifications, stored as data. The text is rendered in the reader's language when it is read. */
import type { NotificationType } from '@fitness/contracts/notifications.ts';
import { type PageOf, type PageRequest, toPage } from '@fitness/shared/kernel/page.ts';
import { type ClientSession, type Connection, trusted } from '@fitness/shared/mongo/connect.ts';
import { erase, schemaOf } from '@fitness/shared/mongo/privacy.ts';
import { deleteSome } from '@fitness/shared/mongo/steps.ts';
import mongoose from 'mongoose';

export interface NotificationRow {
  _id: number;
  user_id: number;
  type: NotificationType;
  data: Record<string, unknown>;
  created_at: Date;
  read_at: Date | null;
}

const schema = schemaOf<NotificationRow>(
  { collection: 'notifications', versionKey: false },
  erase('the notifications of the account', {
    _id: { type: Number, required: true },
    user_id: { type: Number, required: true },
    type: { type: String, required: true },
    data: { type: mongoose.Schema.Types.Mixed, required: true },
    created_at: { type: Date, required: true },
    read_at: { type: Date, default: null },
  }),
);
schema.index({ user_id: 1, _id: -1 });
schema.index({ user_id: 1, read_at: 1 });

/** Separate from {@link Notifications}: only `deliverNotification` may insert, because it sends push and email. */
export interface NewNotifications {
  insert(session: ClientSession, row: NotificationRow): Promise<void>;
}

export interface Notifications {
  /** Null when the user has no notification with this id. */
  find(userId: number, id: number): Promise<NotificationRow | null>;
  list(userId: number, request: PageRequest): Promise<PageOf<NotificationRow>>;
  unreadCount(userId: number): Promise<number>;
  /** Returns the notification, marked as read; null when the user has none with this id. The first time is kept. */
  markRead(userId: number, id: number, now: Date): Promise<NotificationRow | null>;
  /** Deletes at most `limit` notifications of an erased account; returns how many. */
  eraseAccount(session: ClientSession, userId: number, limit: number): Promise<number>;
}

const modelOf = (connection: Connection) => connection.model<NotificationRow>('Notification', schema);

export const createNewNotifications = (connection: Connection): NewNotifications => ({
  insert: async (session, row) => {
    await modelOf(connection).create([row], { session });
  },
});

export const createNotifications = (connection: Connection): Notifications => {
  const model = modelOf(connection);
  return {
    find: (userId, id) => model.findOne({ _id: id, user_id: userId }).lean<NotificationRow>(),
    list: async (userId, request) => {
      const byUser = { user_id: userId };
      const before = request.mode === 'cursor' ? (request.after[0] ?? 0) : undefined;
      const filter = before === undefined ? byUser : { ...byUser, _id: trusted({ $lt: before }) };
      const rows = await model
        .find(filter)
        .sort({ _id: -1 })
        .skip(request.mode === 'page' ? request.skip : 0)
        .limit(request.perPage + 1)
        .lean<NotificationRow[]>();
      const total = request.mode === 'page' ? await model.countDocuments(byUser) : undefined;
      return toPage(rows, request, ({ _id }) => _id, total);
    },
    unreadCount: (userId) => model.countDocuments({ user_id: userId, read_at: null }),
    markRead: async (userId, id, now) => {
      const unread = { _id: id, user_id: userId, read_at: null };
      await model.updateOne(unread, { $set: { read_at: now } });
      const row = await model.findById(id).lean<NotificationRow>();
      return row?.user_id === userId ? row : null;
    },
    eraseAccount: (session, userId, limit) => deleteSome(session, model, { user_id: userId }, limit),
  };
};
