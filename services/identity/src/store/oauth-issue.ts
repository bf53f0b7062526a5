/** Issues codes and tokens under OAuth grants. Everything that is issued writes the document of its grant. */
import { type ClientSession, type Connection, trusted } from '@fitness/shared/mongo/connect.ts';
import { type OauthRecord, oauthRecordModel } from './oauth-record.ts';
import { type Token, tokenModel } from './token-document.ts';
import { userModel } from './user-document.ts';

export type NewOauthRecord = Omit<OauthRecord, 'consumed_at' | 'repeated_at' | 'issued'>;

type Records = ReturnType<typeof oauthRecordModel>;

type Twin = Pick<OauthRecord, '_id' | 'consumed_at'>;

/** Marks both allowed uses as spent, so that any further use is refused. */
const retired = (now: Date): Pick<OauthRecord, 'consumed_at' | 'repeated_at'> => ({
  consumed_at: now,
  repeated_at: now,
});

/** Returns false if the grant is revoked. Writes its document, so that a concurrent revocation conflicts. */
const touch = async (
  records: Records,
  session: ClientSession,
  grantKey: string,
  lastUsedAt?: Date,
): Promise<boolean> => {
  const use = lastUsedAt === undefined ? {} : { $set: { last_used_at: lastUsedAt } };
  const touched = await records.updateOne({ _id: grantKey }, { $inc: { issued: 1 }, ...use }, { session });
  return touched.matchedCount === 1;
};

/** Other tokens that were issued for the same refresh token. */
const twinsOf = async (
  records: Records,
  session: ClientSession,
  { _id, uid }: NewOauthRecord,
): Promise<Twin[]> => {
  if (uid === null) return [];
  const all = await records.find({ uid }, { consumed_at: 1 }).session(session).lean<Twin[]>();
  return all.filter((one) => one._id !== _id);
};

/**
 * Uses a refresh token and retires its twin. At most two callers get true: one for the first use, and one for a second
 * use if the first was after `since`. False when the grant was revoked. Touches the grant, so that issuing and using
 * twins are serialized.
 */
const useRefreshToken =
  (records: Records) =>
  async (
    session: ClientSession,
    grantKey: string,
    token: OauthRecord,
    { now, since }: { now: Date; since: Date },
  ): Promise<boolean> => {
    if (!(await touch(records, session, grantKey))) return false;
    const { _id } = token;
    const uses = [
      [{ consumed_at: null }, { consumed_at: now }],
      [{ consumed_at: trusted({ $gt: since }), repeated_at: null }, { repeated_at: now }],
    ] as const;
    for (const [unused, use] of uses) {
      const used = await records.updateOne({ _id, ...unused }, { $set: use }, { session });
      if (used.matchedCount === 0) continue;
      for (const { _id: twin } of await twinsOf(records, session, token)) {
        await records.updateOne({ _id: twin, consumed_at: null }, { $set: retired(now) }, { session });
      }
      return true;
    }
    return false;
  };

export const createGrantIssue = (connection: Connection) => {
  const records = oauthRecordModel(connection);
  const tokens = tokenModel(connection);
  const users = userModel(connection);
  return {
    /**
     * Returns false and stores nothing if the user's credentials were revoked since `credentialEpoch` was read, or while
     * the deletion of the account is pending.
     */
    insertGrant: async (
      session: ClientSession,
      grant: NewOauthRecord,
      credentialEpoch: number,
    ): Promise<boolean> => {
      const touched = await users.updateOne(
        {
          _id: grant.user_id,
          credential_epoch: credentialEpoch,
          deletion_scheduled_at: null,
          erased_at: null,
        },
        { $inc: { tokens_issued: 1 } },
        { session },
      );
      if (touched.matchedCount === 0) return false;
      await records.create([grant], { session });
      return true;
    },

    /**
     * Issues a code or a refresh token; false when the grant was revoked. The token is retired at once if its twin was
     * used.
     */
    insertUnderGrant: async (
      session: ClientSession,
      grantKey: string,
      record: NewOauthRecord,
      now: Date,
    ): Promise<boolean> => {
      if (!(await touch(records, session, grantKey))) return false;
      const isLate = (await twinsOf(records, session, record)).some(({ consumed_at: used }) => used !== null);
      await records.create([{ ...record, ...(isLate ? retired(now) : {}) }], { session });
      return true;
    },

    useRefreshToken: useRefreshToken(records),

    /** Issues an access token; false when the grant was revoked. */
    insertAccessToken: async (session: ClientSession, grantKey: string, token: Token): Promise<boolean> => {
      if (!(await touch(records, session, grantKey, token.created_at))) return false;
      await tokens.create([token], { session });
      return true;
    },
  };
};
