/**
 * The user names, e-mails and phones in use, one document each; the unique `_id` decides races. They are not unique
 * indexes of the accounts, because those would have to contain the shard key once the accounts are sharded.
 */
import { type ClientSession, type Connection, trusted } from '@fitness/shared/mongo/connect.ts';
import { erase, privacy } from '@fitness/shared/mongo/privacy.ts';
import { isDuplicateKey } from '@fitness/shared/mongo/transaction.ts';
import mongoose from 'mongoose';
import { LOGIN_FIELDS, type LoginField, loginKey } from '../domain/login.ts';

interface LoginKey {
  _id: string;
  user_id: number;
}

type LoginValues = Record<LoginField, string>;

/** Another account has the value. The transaction cannot be continued. */
export class TakenError extends Error {
  override name = 'TakenError';
  readonly field: LoginField;

  constructor(field: LoginField, cause: unknown) {
    super(`${field} is taken`, { cause });
    this.field = field;
  }
}

const schema = new mongoose.Schema<LoginKey>(
  { _id: String, user_id: { type: Number, required: true } },
  { versionKey: false, collection: 'login_keys' },
).index({ user_id: 1 });

privacy(schema, erase('user names, e-mails and phones become available again', '_id', 'user_id'));

export type LoginKeys = ReturnType<typeof createLoginKeys>;

export const createLoginKeys = (connection: Connection) => {
  const keys = connection.model<LoginKey>('LoginKey', schema);

  const claim = async (
    session: ClientSession,
    userId: number,
    field: LoginField,
    value: string,
  ): Promise<void> => {
    try {
      await keys.create([{ _id: loginKey(field, value), user_id: userId }], { session });
    } catch (error) {
      throw isDuplicateKey(error) ? new TakenError(field, error) : error;
    }
  };

  return {
    /** Throws {@link TakenError}. */
    claimAll: async (session: ClientSession, userId: number, values: LoginValues): Promise<void> => {
      for (const field of LOGIN_FIELDS) await claim(session, userId, field, values[field]);
    },

    /** Claims the changed values and releases the previous ones. Throws {@link TakenError}. */
    move: async (
      session: ClientSession,
      userId: number,
      before: LoginValues,
      after: LoginValues,
    ): Promise<void> => {
      for (const field of LOGIN_FIELDS) {
        const old = loginKey(field, before[field]);
        if (old === loginKey(field, after[field])) continue;
        await claim(session, userId, field, after[field]);
        await keys.deleteOne({ _id: old, user_id: userId }, { session });
      }
    },

    releaseAll: async (session: ClientSession, userId: number): Promise<void> => {
      await keys.deleteMany({ user_id: userId }, { session });
    },

    /** User ids by key. Unused keys are missing. */
    findOwners: async (wanted: readonly string[]): Promise<Map<string, number>> => {
      const found = await keys.find({ _id: trusted({ $in: [...wanted] }) }).lean<LoginKey[]>();
      return new Map(found.map((key) => [key._id, key.user_id]));
    },
  };
};
