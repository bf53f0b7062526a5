/** The grants of OAuth clients: their lists, and their revocation with everything that was issued under them. */
import { type ClientSession, type Connection, trusted } from '@fitness/shared/mongo/connect.ts';
import { countMatches } from '@fitness/shared/mongo/count-matches.ts';
import { STEP_MAX, TooManyRows } from '@fitness/shared/mongo/steps.ts';
import { type OauthRecord, oauthRecordModel } from './oauth-record.ts';
import type { Revocations } from './revocations.ts';
import { type Token, tokenModel } from './token-document.ts';

/** The first of two `$match` stages, which MongoDB merges. Splitting them lets an index serve this one. */
const grantsOf = (userId: number, beforeNumber = Number.MAX_SAFE_INTEGER) => ({
  $match: { user_id: userId, grant_number: { $gt: 0, $lt: beforeNumber } },
});

/** Deletes at most `limit` codes and tokens that were issued under a grant, and returns how many. */
const createDeleteIssued = (connection: Connection, revocations: Revocations) => {
  const records = oauthRecordModel(connection);
  const tokens = tokenModel(connection);
  return async (session: ClientSession, grant: OauthRecord, limit: number): Promise<number> => {
    const { _id, user_id: userId, grant_id: grantId } = grant;
    if (userId === null) throw new Error('a grant without a user');
    revocations.add(session, userId);
    const under = await records
      .find({ grant_id: grantId }, { _id: 1 }, { session, limit: limit + 1 })
      .lean<Pick<OauthRecord, '_id'>[]>();
    const ids = under.map((record) => record._id).filter((id) => id !== _id);
    const recordIds = ids.slice(0, limit);
    if (recordIds.length > 0) await records.deleteMany({ _id: trusted({ $in: recordIds }) }, { session });
    const left = limit - recordIds.length;
    if (left === 0) return limit;
    const issued = await tokens
      .find({ grant_id: grantId }, { _id: 1 }, { session, limit: left })
      .lean<Pick<Token, '_id'>[]>();
    if (issued.length > 0) {
      const hashes = issued.map((token) => token._id);
      await tokens.deleteMany({ user_id: userId, _id: trusted({ $in: hashes }) }, { session });
    }
    return recordIds.length + issued.length;
  };
};

export const createGrantRevocation = (connection: Connection, revocations: Revocations) => {
  const deleteIssued = createDeleteIssued(connection, revocations);
  const records = oauthRecordModel(connection);

  /** A grant may have any number of tokens. If there are many, steps delete them before the transaction that revokes. */
  const revoke = async (session: ClientSession, grant: OauthRecord): Promise<void> => {
    if ((await deleteIssued(session, grant, STEP_MAX)) < STEP_MAX) return;
    throw new TooManyRows((own, limit) => deleteIssued(own, grant, limit));
  };

  return {
    /** Deletes the grant and everything issued under it. Idempotent. */
    revokeGrant: async (session: ClientSession, grantKey: string): Promise<void> => {
      const grant = await records.findOneAndDelete({ _id: grantKey }, { session }).lean<OauthRecord>();
      if (grant !== null) await revoke(session, grant);
    },

    /** Like `revokeGrant`, but by the public id; false when the user has no such grant. */
    revokeNumberedGrant: async (
      session: ClientSession,
      userId: number,
      grantNumber: number,
    ): Promise<boolean> => {
      // Added even for a repeated request, because its response may be the first to arrive.
      revocations.add(session, userId);
      const own = { user_id: userId, grant_number: grantNumber };
      const row = await records.findOne(own, { _id: 1 }).session(session).lean<Pick<OauthRecord, '_id'>>();
      if (row === null) return false;
      const grant = await records.findOneAndDelete({ _id: row._id }, { session }).lean<OauthRecord>();
      if (grant === null) return false;
      await revoke(session, grant);
      return true;
    },
  };
};

export const createGrantReads = (connection: Connection) => {
  const records = oauthRecordModel(connection);
  return {
    /** Live grants, newest first. */
    listGrants: (
      userId: number,
      now: Date,
      window: { skip: number; limit: number; beforeNumber?: number | undefined },
    ): Promise<OauthRecord[]> =>
      records.aggregate<OauthRecord>([
        grantsOf(userId, window.beforeNumber),
        { $match: { expires_at: { $gt: now } } },
        { $sort: { grant_number: -1 } },
        { $skip: window.skip },
        { $limit: window.limit },
      ]),

    countGrants: (userId: number, now: Date): Promise<number> =>
      countMatches(records, [grantsOf(userId), { $match: { expires_at: { $gt: now } } }]),

    /** Writes nothing if the grant was used after `before` or is revoked. */
    markGrantUsed: async (grantKey: string, now: Date, before: Date): Promise<void> => {
      await records.updateOne(
        { _id: grantKey, last_used_at: trusted({ $lte: before }) },
        { $set: { last_used_at: now } },
      );
    },

    /** Assigns public ids to grants that earlier releases stored without one. Returns how many. */
    numberGrants: async (next: () => Promise<number>): Promise<number> => {
      const grants = await records
        .find({ _id: trusted({ $gte: 'Grant:', $lt: 'Grant;' }) }, { grant_number: 1 })
        .lean<Pick<OauthRecord, '_id' | 'grant_number'>[]>();
      const unnumbered = grants.filter(({ grant_number: number }) => number == null);
      for (const { _id } of unnumbered) {
        await records.updateOne({ _id, grant_number: null }, { $set: { grant_number: await next() } });
      }
      return unnumbered.length;
    },
  };
};
