/** Credentials, stored under the hash of their token. Revoking deletes the document. */
import type { SessionPage } from '@fitness/shared/kernel/caller.ts';
import { type ClientSession, type Connection, trusted } from '@fitness/shared/mongo/connect.ts';
import { erase, privacy } from '@fitness/shared/mongo/privacy.ts';
import { deleteSome, STEP_MAX, TooManyRows } from '@fitness/shared/mongo/steps.ts';
import mongoose, { type Model } from 'mongoose';
import type { TokenKind } from '../domain/token.ts';
import { createDeviceRevocation } from './devices.ts';
import { createLoginKeys, type FoundKey } from './login-keys.ts';
import { oauthRecordModel } from './oauth-record.ts';
import { guardRevocations, type Revocations } from './revocations.ts';
import { userModel } from './user-document.ts';

export interface Token {
  /** SHA-256 of the token, in hex. */
  _id: string;
  user_id: number;
  kind: TokenKind;
  /** For a session or a personal token: the public id. */
  token_number: number | null;
  /** For a session: the client program that signed in. */
  name: string | null;
  /** For a session: the address of the sign-in. */
  address?: string | null;
  /** For a session that is limited to one page: the token may call only the routes of this page. */
  page?: SessionPage | null;
  /** Last use of a session or an OAuth access token, to the minute. */
  last_used_at?: Date | null;
  /** Null: all permissions of the user. A list, even an empty one, restricts the token. */
  permissions: string[] | null;
  /** For an OAuth access token: its grant, and the client that it was issued to. */
  grant_id?: string | null;
  client_id?: string | null;
  /** For an OAuth access token: the resource that it is for (RFC 8707); null for every resource. */
  audience?: string | null;
  created_at: Date;
  /** For a session with an idle timeout: its latest possible end. Using the session does not extend it. */
  ends_at?: Date | null;
  expires_at: Date;
}

const schema = new mongoose.Schema<Token>(
  {
    _id: String,
    user_id: { type: Number, required: true },
    kind: { type: String, required: true },
    token_number: { type: Number, default: null },
    name: { type: String, default: null },
    address: { type: String, default: null },
    page: { type: String, default: null },
    last_used_at: { type: Date, default: null },
    permissions: { type: [String], default: null },
    grant_id: { type: String, default: null },
    client_id: { type: String, default: null },
    audience: { type: String, default: null },
    created_at: { type: Date, required: true },
    ends_at: { type: Date, default: null },
    expires_at: { type: Date, required: true },
  },
  { versionKey: false, collection: 'tokens' },
)
  .index({ expires_at: 1 }, { expireAfterSeconds: 0 })
  .index({ user_id: 1, kind: 1, token_number: 1 })
  .index({ grant_id: 1 }, { partialFilterExpression: { grant_id: { $gt: '' } } });

privacy(
  schema,
  erase(
    'credentials of the account',
    '_id',
    'user_id',
    'kind',
    'token_number',
    'name',
    'permissions',
    'grant_id',
    'client_id',
  ),
  erase(
    'credentials of the account',
    'audience',
    'created_at',
    'ends_at',
    'expires_at',
    'address',
    'page',
    'last_used_at',
  ),
);

guardRevocations(schema, {
  subjectOf: ({ user_id }) => user_id,
  fields: ['user_id', 'kind', 'permissions', 'page', 'expires_at'],
});

const earlier = (one: Date, other: Date): Date => (one < other ? one : other);

export const tokenModel = (connection: Connection): Model<Token> => connection.model<Token>('Token', schema);

/** Tokens with a public id. */
export type NumberedKind = Extract<TokenKind, 'session' | 'personal'>;

/** The first of two `$match` stages, which MongoDB merges. Splitting them lets an index serve this one. */
const ofKind = (userId: number, kind: NumberedKind) => ({ $match: { user_id: userId, kind } });

interface Revoked {
  /** Hash of the token to keep. */
  keptHash: string | undefined;
  /** Introspection refuses every token of an erased account, so gateways need no notification per token. */
  isErased: boolean;
}

/** Revokes all credentials of an account. */
const createRevoke = (connection: Connection, revocations: Revocations) => {
  const tokens = tokenModel(connection);
  const users = userModel(connection);
  const oauthRecords = oauthRecordModel(connection);
  const loginKeys = createLoginKeys(connection);
  const devices = createDeviceRevocation(connection);

  /** Writes the user and the login keys first: issuing a credential writes one of them, so that the two conflict. */
  const beginRevoking = async (session: ClientSession, userId: number): Promise<void> => {
    revocations.add(session, userId);
    await users.updateOne({ _id: userId }, { $inc: { credential_epoch: 1 } }, { session });
    await loginKeys.revoke(session, userId);
  };

  const deleteTokens = async (
    session: ClientSession,
    userId: number,
    { keptHash, isErased }: Revoked,
    limit: number,
  ): Promise<number> => {
    const own = await tokens
      .find({ user_id: userId }, { _id: 1 }, { session, limit: limit + 1 })
      .lean<Pick<Token, '_id'>[]>();
    const others = own.map(({ _id }) => _id).filter((hash) => hash !== keptHash);
    const hashes = others.slice(0, limit);
    if (hashes.length === 0) return 0;
    const write = tokens.deleteMany({ user_id: userId, _id: trusted({ $in: hashes }) }, { session });
    if (isErased) revocations.addNone(write);
    await write;
    return hashes.length;
  };

  /** Deletes grants first: nothing is issued under a deleted grant. */
  const deleteCredentials = async (
    session: ClientSession,
    userId: number,
    revoked: Revoked,
    limit: number,
  ): Promise<number> => {
    let left = limit;
    left -= await deleteSome(session, oauthRecords, { user_id: userId }, left);
    if (left > 0) left -= await deleteTokens(session, userId, revoked, left);
    if (left > 0) left -= await devices.someOfAccount(session, userId, revoked.keptHash, left);
    return limit - left;
  };

  /** An account may have any number of credentials. Many are deleted in steps before the transaction that revokes. */
  const revoke = async (session: ClientSession, userId: number, keptHash?: string): Promise<void> => {
    const revoked = { keptHash, isErased: false };
    await beginRevoking(session, userId);
    if ((await deleteCredentials(session, userId, revoked, STEP_MAX)) < STEP_MAX) return;
    throw new TooManyRows((own, limit) => {
      revocations.add(own, userId);
      return deleteCredentials(own, userId, revoked, limit);
    });
  };

  return { deleteCredentials, revoke };
};

export type Tokens = ReturnType<typeof createTokens>;

export const createTokens = (connection: Connection, revocations: Revocations) => {
  const tokens = tokenModel(connection);
  const users = userModel(connection);
  const loginKeys = createLoginKeys(connection);
  const devices = createDeviceRevocation(connection);

  const { deleteCredentials, revoke } = createRevoke(connection, revocations);

  return {
    /**
     * Returns false and stores nothing if the user's credentials were revoked since `credentialEpoch` was read. Writes the
     * user's document, so that a concurrent revocation conflicts.
     */
    insert: async (session: ClientSession, token: Token, credentialEpoch: number): Promise<boolean> => {
      const touched = await users.updateOne(
        { _id: token.user_id, credential_epoch: credentialEpoch, erased_at: null },
        { $inc: { tokens_issued: 1 } },
        { session },
      );
      if (touched.matchedCount === 0) return false;
      await tokens.create([token], { session });
      return true;
    },

    /**
     * Stores the session of a sign-in. Returns false and stores nothing if the user's credentials were revoked or the
     * account was erased since `key` was read. Does not write the user's document, which costs several times more because
     * of its search indexes. `network`: a keyed hash of the client's network, which is recorded for the account.
     */
    insertSession: async (
      session: ClientSession,
      token: Token,
      key: FoundKey,
      network: string,
    ): Promise<boolean> => {
      if (!(await loginKeys.recordSignIn(session, key, network))) return false;
      await tokens.create([token], { session });
      return true;
    },

    /** Returns a credential that has not expired at `now`. */
    findLive: async (hash: string, now: Date, session?: ClientSession): Promise<Token | null> => {
      const token = await tokens
        .findById(hash)
        .session(session ?? null)
        .lean<Token>();
      return token !== null && token.expires_at > now ? token : null;
    },

    /** Revokes sessions, personal tokens and OAuth grants, with everything issued under the grants. */
    revokeAll: (session: ClientSession, userId: number): Promise<void> => revoke(session, userId),

    /** Like `revokeAll`, but keeps one token. OAuth records are deleted even if that token is an OAuth token. */
    revokeOthers: (session: ClientSession, userId: number, keptHash: string): Promise<void> =>
      revoke(session, userId, keptHash),

    /** Deletes at most `limit` credentials of an erased account, which are no longer accepted. Returns how many. */
    eraseAccount: (session: ClientSession, userId: number, limit: number): Promise<number> =>
      deleteCredentials(session, userId, { keptHash: undefined, isErased: true }, limit),

    delete: async (session: ClientSession, userId: number, hash: string): Promise<void> => {
      revocations.add(session, userId);
      await tokens.deleteOne({ _id: hash, user_id: userId }, { session });
      await devices.ofSession(session, hash);
    },

    /** False when the user has no token of this kind and number. */
    deleteNumbered: async (
      session: ClientSession,
      userId: number,
      kind: NumberedKind,
      tokenNumber: number,
    ): Promise<boolean> => {
      revocations.add(session, userId);
      const own = { user_id: userId, kind, token_number: tokenNumber } as const;
      const token = await tokens.findOne(own, { _id: 1 }).session(session).lean<Pick<Token, '_id'>>();
      if (token === null) return false;
      await tokens.deleteOne({ _id: token._id, user_id: userId }, { session });
      await devices.ofSession(session, token._id);
      return true;
    },

    /**
     * Ends a live session of the user at `idleEnd`, or at `end` if that is earlier. A later call replaces `idleEnd`, but can
     * move `end` only to an earlier time. Assigns the session to `page` unless it already belongs to a page.
     */
    limitSession: async (
      session: ClientSession,
      userId: number,
      hash: string,
      { now, end, idleEnd, page }: { now: Date; end: Date; idleEnd: Date; page: SessionPage | undefined },
    ): Promise<void> => {
      const live = {
        _id: hash,
        user_id: userId,
        kind: 'session',
        expires_at: trusted({ $gt: now }),
      } as const;
      const token = await tokens
        .findOne(live, { expires_at: 1, ends_at: 1, page: 1 })
        .session(session)
        .lean<Pick<Token, 'expires_at' | 'ends_at' | 'page'>>();
      if (token === null) return;
      const endsAt = earlier(token.ends_at ?? token.expires_at, end);
      const expiresAt = earlier(endsAt, idleEnd);
      const isNewPage = page !== undefined && token.page == null;
      const change = { ends_at: endsAt, expires_at: expiresAt, ...(isNewPage ? { page } : {}) };
      const write = tokens.updateOne(live, { $set: change }, { session });
      // Without Redis a revocation takes seconds, and the operators' page is needed most during an outage.
      if (isNewPage || expiresAt < token.expires_at) revocations.add(session, userId);
      else revocations.addNone(write);
      await write;
    },

    /** Writes nothing if the token was used after `before` or is revoked. */
    markUsed: async (hash: string, now: Date, before: Date): Promise<void> => {
      await tokens.updateOne(
        { _id: hash, last_used_at: trusted({ $lte: before }) },
        { $set: { last_used_at: now } },
      );
    },

    /** Live tokens, newest first. */
    listNumbered: (
      userId: number,
      kind: NumberedKind,
      now: Date,
      window: { skip: number; limit: number; beforeNumber?: number | undefined },
    ): Promise<Token[]> =>
      tokens.aggregate<Token>([
        ofKind(userId, kind),
        {
          $match: {
            expires_at: { $gt: now },
            ...(window.beforeNumber === undefined ? {} : { token_number: { $lt: window.beforeNumber } }),
          },
        },
        { $sort: { token_number: -1 } },
        { $skip: window.skip },
        { $limit: window.limit },
      ]),

    countNumbered: async (userId: number, kind: NumberedKind, now: Date): Promise<number> => {
      const [counted] = await tokens.aggregate<{ total: number }>([
        ofKind(userId, kind),
        { $match: { expires_at: { $gt: now } } },
        { $count: 'total' },
      ]);
      return counted?.total ?? 0;
    },
  };
};
