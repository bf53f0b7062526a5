/** The deletion of an account: its schedule, and its erasure. */
import type { RowTexts } from '@fitness/shared/lists/texts.ts';
import { type ClientSession, type Connection, trusted } from '@fitness/shared/mongo/connect.ts';
import type { User } from '../domain/user.ts';
import type { LoginKeys } from './login-keys.ts';
import type { Revocations } from './revocations.ts';
import { createUpdateOne, ERASURE, type StoredUser, userModel } from './user-document.ts';

type Tombstone = Pick<User, 'version' | 'created_at'>;

export const createDeletionSchedule = (connection: Connection) => {
  const updateOne = createUpdateOne(connection);
  return {
    /** Null when there is no live account, or its deletion is already pending. */
    scheduleDeletion: (
      session: ClientSession,
      id: number,
      dates: { requestedAt: Date; scheduledAt: Date },
    ): Promise<User | null> =>
      updateOne(
        session,
        { _id: id, deletion_scheduled_at: null },
        {
          deletion_requested_at: dates.requestedAt,
          deletion_scheduled_at: dates.scheduledAt,
          standing: 'pending',
        },
      ),

    /** Null when no deletion is pending. */
    cancelDeletion: (session: ClientSession, id: number): Promise<User | null> =>
      updateOne(
        session,
        { _id: id, deletion_scheduled_at: trusted({ $ne: null }) },
        { deletion_requested_at: null, deletion_scheduled_at: null, standing: 'live' },
      ),

    /** Null when the deletion is no longer scheduled for `dates.from`. */
    postponeDeletion: (
      session: ClientSession,
      id: number,
      dates: { from: Date; to: Date },
    ): Promise<User | null> =>
      updateOne(session, { _id: id, deletion_scheduled_at: dates.from }, { deletion_scheduled_at: dates.to }),
  };
};

export const createErasure = (
  connection: Connection,
  keys: LoginKeys,
  texts: RowTexts,
  revocations: Revocations,
) => {
  const users = userModel(connection);
  return {
    /**
     * Replaces the account with an anonymous tombstone and releases its username, email and phone. With `dueOn`, only if the
     * deletion is scheduled for that date. Returns the tombstone. If the account is not live or not due, returns null and
     * writes nothing.
     */
    erase: async (
      session: ClientSession,
      id: number,
      erasedAt: Date,
      dueOn?: Date,
    ): Promise<Tombstone | null> => {
      revocations.add(session, id);
      const due = dueOn === undefined ? {} : { deletion_scheduled_at: dueOn };
      const tombstone = await users
        .findOneAndUpdate(
          { _id: id, ...due, erased_at: null },
          {
            $set: { ...ERASURE.$set, erased_at: erasedAt, standing: 'erased' },
            $unset: ERASURE.$unset,
            $inc: { version: 1, credential_epoch: 1 },
          },
          { returnDocument: 'after', session },
        )
        .select({ version: 1, created_at: 1 })
        .lean<Tombstone>();
      if (tombstone === null) return null;
      await keys.releaseAll(session, id);
      await texts.remove(session, [id]);
      return tombstone;
    },

    /** The account that was created at that time, or its tombstone; null when the id belongs to another account. */
    findCreatedAt: async (
      session: ClientSession,
      id: number,
      createdAt: Date,
    ): Promise<Pick<StoredUser, 'version' | 'erased_at'> | null> => {
      const row = await users
        .findById(id)
        .select({ version: 1, created_at: 1, erased_at: 1 })
        .session(session)
        .lean<Tombstone & Pick<StoredUser, 'erased_at'>>();
      return row?.created_at.getTime() === createdAt.getTime() ? row : null;
    },

    /**
     * Writes the document of a live account; false when there is none. The write conflicts with an erasure: the account
     * stays live until the transaction ends, and no personal data is stored after the erasure.
     */
    touchIfLive: async (session: ClientSession, id: number): Promise<boolean> => {
      const touched = await users.updateOne({ _id: id, erased_at: null }, { $inc: { pins: 1 } }, { session });
      return touched.matchedCount === 1;
    },
  };
};
