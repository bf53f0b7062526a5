/** The stored form of OAuth records (grants and what is issued under them) and of OAuth clients. */
import type { Connection } from '@fitness/shared/mongo/connect.ts';
import { erase, retain, schemaOf } from '@fitness/shared/mongo/privacy.ts';
import type { Model } from 'mongoose';

export interface OauthRecord {
  /** `<kind>:<SHA-256 of the id, in hex>`: the id of a code, a refresh token or a session is a secret. */
  _id: string;
  /** Null before the user has signed in. */
  user_id: number | null;
  /** The grant that the record belongs to. For a grant: its id. */
  grant_id: string | null;
  /** For a grant: its public id. */
  grant_number?: number | null;
  /** For a grant: the last use of one of its tokens, to the minute. */
  last_used_at?: Date | null;
  /**
   * For a session: the id by which an interaction refers to it. For a refresh token: an id that two tokens share if they
   * were issued for the same one.
   */
  uid: string | null;
  /** First use. A used code or refresh token is kept, so that a second use is recognized. */
  consumed_at: Date | null;
  /**
   * For a refresh token: its second use, by an app that has lost the response to the first. A retired token has both
   * times.
   */
  repeated_at?: Date | null;
  /** Everything else, as JSON, without the id. */
  payload: string;
  /** For a grant: incremented when anything is issued under it or a refresh token is used, to conflict with revoking. */
  issued: number;
  expires_at: Date;
}

const recordSchema = schemaOf<OauthRecord>(
  { versionKey: false, collection: 'oauth_records' },
  erase('grants of the account, and what was issued under them', {
    _id: String,
    user_id: { type: Number, default: null },
    grant_id: { type: String, default: null },
    uid: { type: String, default: null },
    grant_number: { type: Number, default: null },
    last_used_at: { type: Date, default: null },
  }),
  erase('grants of the account, and what was issued under them', {
    consumed_at: { type: Date, default: null },
    repeated_at: { type: Date, default: null },
    payload: { type: String, required: true },
    issued: { type: Number, default: 0 },
    expires_at: { type: Date, required: true },
  }),
)
  .index({ expires_at: 1 }, { expireAfterSeconds: 0 })
  .index({ user_id: 1, grant_number: 1 })
  .index({ grant_id: 1 })
  .index({ uid: 1 });

export const oauthRecordModel = (connection: Connection): Model<OauthRecord> =>
  connection.model<OauthRecord>('OauthRecord', recordSchema);

export interface OauthClient {
  /** The public client id. */
  _id: string;
  /** The registration, as JSON. */
  metadata: string;
  /** Extended by every grant. A client without a grant expires after a day. */
  expires_at: Date;
}

const clientSchema = schemaOf<OauthClient>(
  { versionKey: false, collection: 'oauth_clients' },
  retain('an application, not a person', {
    _id: String,
    metadata: { type: String, required: true },
    expires_at: { type: Date, required: true },
  }),
).index({ expires_at: 1 }, { expireAfterSeconds: 0 });

export const oauthClientModel = (connection: Connection): Model<OauthClient> =>
  connection.model<OauthClient>('OauthClient', clientSchema);
