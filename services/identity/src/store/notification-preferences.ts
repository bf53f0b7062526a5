/** What an account has chosen to be told by push and e-mail. Without a document everything is told. */
import type { ClientSession, Connection } from '@fitness/shared/mongo/connect.ts';
import { erase, privacy } from '@fitness/shared/mongo/privacy.ts';
import mongoose from 'mongoose';

export interface NotificationPreferences {
  /** The account. */
  _id: number;
  /** Of e-mails; null without a choice. */
  locale: string | null;
  /** `<type>:<channel>` of those that are switched off. */
  off: string[];
}

const schema = new mongoose.Schema<NotificationPreferences>(
  {
    _id: { type: Number, required: true },
    locale: { type: String, default: null },
    off: { type: [String], default: [] },
  },
  { versionKey: false, collection: 'notification_preferences' },
);

privacy(schema, erase('what the account has chosen to be told', '_id', 'locale', 'off'));

export interface PreferencesStore {
  find(userId: number, session?: ClientSession): Promise<NotificationPreferences>;
  put(session: ClientSession, preferences: NotificationPreferences): Promise<void>;
  eraseAccount(session: ClientSession, userId: number): Promise<void>;
}

export const createPreferencesStore = (connection: Connection): PreferencesStore => {
  const model = connection.model<NotificationPreferences>('NotificationPreferences', schema);
  return {
    find: async (userId, session) => {
      const found = await model
        .findById(userId)
        .session(session ?? null)
        .lean<NotificationPreferences>();
      return found ?? { _id: userId, locale: null, off: [] };
    },
    put: async (session, { _id, ...chosen }) => {
      await model.updateOne({ _id }, { $set: chosen }, { session, upsert: true });
    },
    eraseAccount: async (session, userId) => {
      await model.deleteOne({ _id: userId }, { session });
    },
  };
};
