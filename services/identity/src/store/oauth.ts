/**
 * OAuth clients, grants, authorization codes, refresh tokens, sessions and interactions. Access tokens are stored with
 * the other credentials (tokens.ts). Revoking deletes the documents.
 */
import { type ClientSession, type Connection, trusted } from '@fitness/shared/mongo/connect.ts';
import { createGrantReads, createGrantRevocation } from './oauth-grants.ts';
import { createGrantIssue, type NewOauthRecord } from './oauth-issue.ts';
import { type OauthRecord, oauthClientModel, oauthRecordModel } from './oauth-record.ts';
import type { Revocations } from './revocations.ts';
import { type Token, tokenModel } from './token-document.ts';

export type { NewOauthRecord } from './oauth-issue.ts';
export type { OauthRecord } from './oauth-record.ts';

export type OauthRecords = ReturnType<typeof createOauthRecords>;

export const createOauthRecords = (connection: Connection, revocations: Revocations) => ({
  ...createRecords(connection),
  ...createGrantIssue(connection),
  ...createGrantRevocation(connection, revocations),
  ...createGrantReads(connection),
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
