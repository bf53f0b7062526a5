/** Revokes credentials. Revoking deletes the document, and the devices that a session has registered. */
import { type ClientSession, type Connection, trusted } from '@fitness/shared/mongo/connect.ts';
import { deleteSome, STEP_MAX, TooManyRows } from '@fitness/shared/mongo/steps.ts';
import type { TokenKind } from '../domain/token.ts';
import { createDeviceRevocation } from './devices.ts';
import { createLoginKeys } from './login-keys.ts';
import { oauthRecordModel } from './oauth-record.ts';
import type { Revocations } from './revocations.ts';
import { type Token, tokenModel } from './token-document.ts';
import { userModel } from './user-document.ts';

/** Tokens with a public id. */
export type NumberedKind = Extract<TokenKind, 'session' | 'personal'>;

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

export const createTokenRevocation = (connection: Connection, revocations: Revocations) => {
  const tokens = tokenModel(connection);
  const devices = createDeviceRevocation(connection);
  const { deleteCredentials, revoke } = createRevoke(connection, revocations);
  return {
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
  };
};
