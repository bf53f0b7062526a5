/** Writes of live accounts. Login keys and search texts are written with them. */
import type { MediaCopy } from '@fitness/contracts/media-copy.ts';
import type { StoredSubscription, SubscriptionCopy } from '@fitness/contracts/subscription.ts';
import { sameWords } from '@fitness/shared/kernel/same-words.ts';
import type { RowTexts } from '@fitness/shared/lists/texts.ts';
import { type ClientSession, type Connection, trusted } from '@fitness/shared/mongo/connect.ts';
import { contactTexts } from '../domain/search-text.ts';
import type { User } from '../domain/user.ts';
import type { LoginKeys } from './login-keys.ts';
import type { Revocations } from './revocations.ts';
import { createFindOne, createUpdateOne, type Standing, toUser, userModel } from './user-document.ts';

/** Changes to an account. Login keys and search texts are updated with them. */
type UserChanges = Partial<
  Omit<
    User,
    '_id' | 'version' | 'credential_epoch' | 'has_referrals' | 'created_at' | 'media' | 'subscription'
  >
>;

type FieldWithDefault = {
  [Field in keyof User]-?: null extends User[Field] ? Field : User[Field] extends boolean ? Field : never;
}[keyof User];

/** Nullable and boolean fields may be omitted. They default to the schema's values. */
export type NewUser = Omit<User, FieldWithDefault | 'version' | 'credential_epoch'> &
  Partial<Pick<User, FieldWithDefault>>;

/** Ignores a copy that is older than the stored one. No effect without a live account. */
const createSaveMedia =
  (users: ReturnType<typeof userModel>) =>
  async (session: ClientSession | undefined, id: number, { version, files }: MediaCopy): Promise<void> => {
    const older: Record<string, unknown> = { 'media.version': trusted({ $not: { $gt: version } }) };
    const copy = { $set: { media: { version, files } } };
    await users.updateOne({ _id: id, erased_at: null, ...older }, copy, session && { session });
  };

const createSubscriptions = (users: ReturnType<typeof userModel>) => ({
  /**
   * Ignores an event that is not newer. Subscriptions of an account follow each other, so the newest is the one that started last.
   * No effect without a live account.
   */
  saveSubscription: async (
    session: ClientSession,
    id: number,
    subscription: SubscriptionCopy,
  ): Promise<void> => {
    const isNewer = [
      { subscription: null },
      { 'subscription.starts_at': trusted({ $lt: subscription.starts_at }) },
      { 'subscription.id': subscription.id, 'subscription.version': trusted({ $lt: subscription.version }) },
    ];
    const filter: Record<string, unknown> = { _id: id, erased_at: null, $or: isNewer };
    await users.updateOne(filter, { $set: { subscription } }, { session });
  },

  /** Replaces the copy `before`. No effect if it has changed, or without a live account. */
  replaceSubscription: async (
    id: number,
    before: StoredSubscription,
    subscription: SubscriptionCopy | null,
  ): Promise<void> => {
    if (subscription === before) return;
    const filter: Record<string, unknown> = before
      ? { 'subscription.id': before.id, 'subscription.version': before.version }
      : { subscription: null };
    await users.updateOne({ _id: id, erased_at: null, ...filter }, { $set: { subscription } });
  },
});

export const createWrites = (
  connection: Connection,
  keys: LoginKeys,
  texts: RowTexts,
  revocations: Revocations,
) => {
  const users = userModel(connection);
  const findOne = createFindOne(connection);
  const updateOne = createUpdateOne(connection);

  /** Writes only for the first referral, so that concurrent registrations do not contend for the referrer's document. */
  const markReferrer = async (session: ClientSession, id: number): Promise<void> => {
    await users.updateOne({ _id: id, has_referrals: false }, { $set: { has_referrals: true } }, { session });
  };

  return {
    /** Throws an error that `takenField` recognizes. `network`: keyed hash of the network that registers the account. */
    insert: async (session: ClientSession, user: NewUser, network?: string): Promise<User> => {
      await keys.claimAll(session, user._id, user, network === undefined ? [] : [network]);
      const standing: Standing = user.deletion_scheduled_at ? 'pending' : 'live';
      const [created] = await users.create([{ ...user, subscription: null, standing }], { session });
      if (created === undefined) throw new Error('the account was not created');
      const row = toUser(created.toObject());
      await texts.add(session, row._id, row);
      if (row.referrer_user_id !== null) await markReferrer(session, row.referrer_user_id);
      return row;
    },

    /** Returns the updated account; null when there is no live one. Throws an error that `takenField` recognizes. */
    update: async (session: ClientSession, id: number, changes: UserChanges): Promise<User | null> => {
      const current = await findOne({ _id: id }, session);
      if (current === null || Object.keys(changes).length === 0) return current;
      if (changes.role_ids !== undefined) revocations.add(session, id);
      const next = { ...current, ...changes };
      await keys.move(session, id, current, next);
      // Proof of the old number proves nothing about the new one.
      const proof = next.phone === current.phone ? {} : { phone_proven: changes.phone_proven ?? false };
      const updated = await updateOne(session, { _id: id }, { ...changes, ...proof });
      if (!sameWords(contactTexts(current), contactTexts(next))) {
        await texts.remove(session, [id]);
        await texts.add(session, id, next);
      }
      return updated;
    },

    saveMedia: createSaveMedia(users),
    ...createSubscriptions(users),

    /** Marks the phone as proven: its owner has entered a code that was sent to it. */
    provePhone: async (session: ClientSession, id: number): Promise<void> => {
      await users.updateOne({ _id: id, erased_at: null }, { $set: { phone_proven: true } }, { session });
    },

    /** Null without a live account, or if its credentials were revoked since `credentialEpoch` was read. */
    setPassword: (
      session: ClientSession,
      id: number,
      passwordHash: string,
      credentialEpoch?: number,
    ): Promise<User | null> =>
      updateOne(
        session,
        { _id: id, ...(credentialEpoch === undefined ? {} : { credential_epoch: credentialEpoch }) },
        { password_hash: passwordHash },
      ),
  };
};
