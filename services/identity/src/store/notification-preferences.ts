/** Which notifications an account has chosen to receive by push and email: all of them without a document. */
import type { ClientSession, Connection } from '@fitness/shared/mongo/connect.ts';
import { erase, schemaOf } from '@fitness/shared/mongo/privacy.ts';

export interface NotificationPreferences {
  /** The id of the account. */
  _id: number;
  /** Language of emails; null when none is chosen. */
  locale: string | null;
  /** The notifications that are switched off, as `<type>:<channel>`. */
  off: string[];
}

const schema = schemaOf<NotificationPreferences>(
  { versionKey: false, collection: 'notification_preferences' },
  erase('the notification preferences of the account', {
    _id: { type: Number, required: true },
    locale: { type: String, default: null },
    off: { type: [String], default: [] },
  }),
);

export interface PreferencesStore {
  find(userId: number, session?: ClientSession): Promise<NotificationPreferences>;
  put(session: ClientSession, preferences: NotificationPreferences): Promise<void>;
  eraseAccount(session: ClientSession, userId: number): Promise<void>;
}

export const createPreferencesStore = (connection: Connection): PreferencesStore => {
  const model = connection.model<NotificationPreferences>('NotificationPreferences', schema);
  return {
    find: async (userId, session) => {
      const row = await model.findById(userId, null, session && { session }).lean<NotificationPreferences>();
      return row ?? { _id: userId, locale: null, off: [] };
    },
    put: async (session, { _id, ...fields }) => {
      await model.updateOne({ _id }, { $set: fields }, { session, upsert: true });
    },
    eraseAccount: async (session, userId) => {
      await model.deleteOne({ _id: userId }, { session });
    },
  };
};
