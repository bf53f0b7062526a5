/**
 * OAuth clients, grants, authorization codes, refresh tokens, sessions and interactions. Access tokens are stored with
 * the other credentials (tokens.ts). Revoking deletes the documents.
 */
import { type ClientSession, type Connection, trusted } from '@fitness/shared/mongo/connect.ts';
import { STEP_MAX, TooManyRows } from '@fitness/shared/mongo/steps.ts';
import { type OauthRecord, oauthClientModel, oauthRecordModel } from './oauth-record.ts';
import type { Revocations } from './revocations.ts';
import { type Token, tokenModel } from './tokens.ts';
import { userModel } from './user-document.ts';

export type { OauthRecord } from './oauth-record.ts';

export type NewOauthRecord = Omit<OauthRecord, 'consumed_at' | 'repeated_at' | 'issued'>;

export type OauthRecords = ReturnType<typeof createOauthRecords>;

export const createOauthRecords = (connection: Connection, revocations: Revocations) => ({
  ...createRecords(connection),
  ...createGrants(connection, revocations),
  ...createClients(connection),
});

const createRecords = (connection: Connection) => {
  const records = oauthRecordModel(connection);
  const live = <Row extends { expires_at: Date }>(row: Row | null, now: Date): Row | null =>
    row !== null && row.expires_at > now ? row : null;
  return {
    /** Inserts or replaces a record that belongs to no grant. */
    put: async ({ _id, ...fields }: NewOauthRecord): Promise<void> => {
      await records.updateOne({ _id }, { $set: fields }, { upsert: true });
    },

    find: async (id: string, now: Date): Promise<OauthRecord | null> =>
      live(await records.findById(id).lean<OauthRecord>(), now),

    findByUid: async (uid: string, now: Date): Promise<OauthRecord | null> =>
      live(await records.findOne({ uid }).lean<OauthRecord>(), now),

    /** Returns true for exactly one of several concurrent callers. */
    consume: async (id: string, now: Date, session?: ClientSession): Promise<boolean> => {
      const consumed = await records.updateOne(
        { _id: id, consumed_at: null },
        { $set: { consumed_at: now } },
        session === undefined ? {} : { session },
      );
      return consumed.matchedCount === 1;
    },

    /** False when there is no such record. */
    delete: async (id: string): Promise<boolean> => (await records.deleteOne({ _id: id })).deletedCount === 1,

    /** Finds an access token by its hash. */
    findAccessToken: async (hash: string): Promise<Token | null> => {
      const token = await tokenModel(connection).findById(hash).lean<Token>();
      return token?.kind === 'oauth' ? token : null;
    },
  };
};

/** The first of two `$match` stages, which MongoDB merges. Splitting them lets an index serve this one. */
const grantsOf = (userId: number, beforeNumber = Number.MAX_SAFE_INTEGER) => ({
  $match: { user_id: userId, grant_number: { $gt: 0, $lt: beforeNumber } },
});

type Twin = Pick<OauthRecord, '_id' | 'consumed_at'>;

/** Marks both allowed uses as spent, so that any further use is refused. */
const retired = (now: Date): Pick<OauthRecord, 'consumed_at' | 'repeated_at'> => ({
  consumed_at: now,
  repeated_at: now,
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

const createGrants = (connection: Connection, revocations: Revocations) => {
  const deleteIssued = createDeleteIssued(connection, revocations);
  const records = oauthRecordModel(connection);
  const tokens = tokenModel(connection);
  const users = userModel(connection);

  /** Returns false if the grant is revoked. Writes its document, so that a concurrent revocation conflicts. */
  const touch = async (session: ClientSession, grantKey: string, lastUsedAt?: Date): Promise<boolean> => {
    const use = lastUsedAt === undefined ? {} : { $set: { last_used_at: lastUsedAt } };
    const touched = await records.updateOne({ _id: grantKey }, { $inc: { issued: 1 }, ...use }, { session });
    return touched.matchedCount === 1;
  };

  /** Other tokens that were issued for the same refresh token. */
  const twinsOf = async (session: ClientSession, { _id, uid }: NewOauthRecord): Promise<Twin[]> => {
    if (uid === null) return [];
    const all = await records.find({ uid }, { consumed_at: 1 }).session(session).lean<Twin[]>();
    return all.filter((one) => one._id !== _id);
  };

  /** A grant may have any number of tokens. If there are many, steps delete them before the transaction that revokes. */
  const revoke = async (session: ClientSession, grant: OauthRecord): Promise<void> => {
    if ((await deleteIssued(session, grant, STEP_MAX)) < STEP_MAX) return;
    throw new TooManyRows((own, limit) => deleteIssued(own, grant, limit));
  };

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
      if (!(await touch(session, grantKey))) return false;
      const isLate = (await twinsOf(session, record)).some(({ consumed_at: used }) => used !== null);
      await records.create([{ ...record, ...(isLate ? retired(now) : {}) }], { session });
      return true;
    },

    /**
     * Uses a refresh token and retires its twin. At most two callers get true: one for the first use, and one for a second
     * use if the first was after `since`. False when the grant was revoked. Touches the grant, so that issuing and using
     * twins are serialized.
     */
    useRefreshToken: async (
      session: ClientSession,
      grantKey: string,
      token: OauthRecord,
      { now, since }: { now: Date; since: Date },
    ): Promise<boolean> => {
      if (!(await touch(session, grantKey))) return false;
      const { _id } = token;
      const uses = [
        [{ consumed_at: null }, { consumed_at: now }],
        [{ consumed_at: trusted({ $gt: since }), repeated_at: null }, { repeated_at: now }],
      ] as const;
      for (const [unused, use] of uses) {
        const used = await records.updateOne({ _id, ...unused }, { $set: use }, { session });
        if (used.matchedCount === 0) continue;
        for (const { _id: twin } of await twinsOf(session, token)) {
          await records.updateOne({ _id: twin, consumed_at: null }, { $set: retired(now) }, { session });
        }
        return true;
      }
      return false;
    },

    /** Issues an access token; false when the grant was revoked. */
    insertAccessToken: async (session: ClientSession, grantKey: string, token: Token): Promise<boolean> => {
      if (!(await touch(session, grantKey, token.created_at))) return false;
      await tokens.create([token], { session });
      return true;
    },

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

    countGrants: async (userId: number, now: Date): Promise<number> => {
      const [counted] = await records.aggregate<{ total: number }>([
        grantsOf(userId),
        { $match: { expires_at: { $gt: now } } },
        { $count: 'total' },
      ]);
      return counted?.total ?? 0;
    },

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

const createClients = (connection: Connection) => {
  const clients = oauthClientModel(connection);
  return {
    /** Returns registrations by client id, as JSON. */
    findClients: async (ids: readonly string[]): Promise<Map<string, string>> => {
      const rows = await clients
        .find({ _id: trusted({ $in: [...ids] }) })
        .lean<{ _id: string; metadata: string }[]>();
      return new Map(rows.map(({ _id, metadata }) => [_id, metadata]));
    },

    /** Returns the registration, as JSON. */
    findClient: async (id: string, now: Date): Promise<string | null> => {
      const client = await clients.findById(id).lean<{ metadata: string; expires_at: Date }>();
      return client !== null && client.expires_at > now ? client.metadata : null;
    },

    insertClient: async (id: string, metadata: string, expiresAt: Date): Promise<void> => {
      await clients.create([{ _id: id, metadata, expires_at: expiresAt }]);
    },

    /** Never shortens the lifetime of the client. */
    extendClientExpiry: async (session: ClientSession, id: string, expiresAt: Date): Promise<void> => {
      await clients.updateOne(
        { _id: id, expires_at: trusted({ $lt: expiresAt }) },
        { $set: { expires_at: expiresAt } },
        { session },
      );
    },
  };
};
