/** Credentials, stored under the hash of their token. Revoking deletes the document (token-revocation.ts). */
import type { SessionPage } from '@fitness/shared/kernel/caller.ts';
import { type ClientSession, type Connection, trusted } from '@fitness/shared/mongo/connect.ts';
import { countMatches } from '@fitness/shared/mongo/count-matches.ts';
import type { Model } from 'mongoose';
import { createLoginKeys, type FoundKey } from './login-keys.ts';
import type { Revocations } from './revocations.ts';
import { type Token, tokenModel } from './token-document.ts';
import { createTokenRevocation, type NumberedKind } from './token-revocation.ts';
import { userModel } from './user-document.ts';

export type { Token } from './token-document.ts';
export type { NumberedKind } from './token-revocation.ts';

const earlier = (one: Date, other: Date): Date => (one < other ? one : other);

/** The first of two `$match` stages, which MongoDB merges. Splitting them lets an index serve this one. */
const ofKind = (userId: number, kind: NumberedKind) => ({ $match: { user_id: userId, kind } });

export type Tokens = ReturnType<typeof createTokens>;

export const createTokens = (connection: Connection, revocations: Revocations) => ({
  ...createIssue(connection),
  ...createReads(connection),
  ...createTokenRevocation(connection, revocations),
  limitSession: createLimitSession(tokenModel(connection), revocations),
});

const createIssue = (connection: Connection) => {
  const tokens = tokenModel(connection);
  const users = userModel(connection);
  const loginKeys = createLoginKeys(connection);
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
  };
};

/**
 * Ends a live session of the user at `idleEnd`, or at `end` if that is earlier. A later call replaces `idleEnd`, but can
 * move `end` only to an earlier time. Assigns the session to `page` unless it already belongs to a page.
 */
const createLimitSession =
  (tokens: Model<Token>, revocations: Revocations) =>
  async (
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
  };

const createReads = (connection: Connection) => {
  const tokens = tokenModel(connection);
  return {
    /** Returns a credential that has not expired at `now`. */
    findLive: async (hash: string, now: Date, session?: ClientSession): Promise<Token | null> => {
      const token = await tokens.findById(hash, null, session && { session }).lean<Token>();
      return token !== null && token.expires_at > now ? token : null;
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

    countNumbered: (userId: number, kind: NumberedKind, now: Date): Promise<number> =>
      countMatches(tokens, [ofKind(userId, kind), { $match: { expires_at: { $gt: now } } }]),
  };
};
