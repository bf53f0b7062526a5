/** How the records of OAuth are stored: what a user has granted, and what was issued under it. */
import type { Connection } from '@fitness/shared/mongo/connect.ts';
import { erase, privacy, retain } from '@fitness/shared/mongo/privacy.ts';
import mongoose, { type Model } from 'mongoose';

export interface OauthRecord {
  /** `<kind>:<SHA-256 of the id, in hex>`: the id of a code, a refresh token or a session is a secret. */
  _id: string;
  /** null until it is known who signs in. */
  user_id: number | null;
  /** The grant that it belongs to; a grant has its own. */
  grant_id: string | null;
  /** Of a browser session: what an interaction remembers it by. */
  uid: string | null;
  /** A code or a refresh token that was used; kept, so that a second use is recognised. */
  consumed_at: Date | null;
  /** Everything else, as JSON, without the id. */
  payload: string;
  /** Grows with everything that is issued under a grant, so that issuing and revoking come one after the other. */
  issued: number;
  expires_at: Date;
}

const recordSchema = new mongoose.Schema<OauthRecord>(
  {
    _id: String,
    user_id: { type: Number, default: null },
    grant_id: { type: String, default: null },
    uid: { type: String, default: null },
    consumed_at: { type: Date, default: null },
    payload: { type: String, required: true },
    issued: { type: Number, default: 0 },
    expires_at: { type: Date, required: true },
  },
  { versionKey: false, collection: 'oauth_records' },
)
  .index({ expires_at: 1 }, { expireAfterSeconds: 0 })
  .index({ user_id: 1 })
  .index({ grant_id: 1 })
  .index({ uid: 1 });

privacy(
  recordSchema,
  erase('what the account has granted, and what was issued under it', '_id', 'user_id', 'grant_id', 'uid'),
  erase('likewise', 'consumed_at', 'payload', 'issued', 'expires_at'),
);

export const oauthRecordModel = (connection: Connection): Model<OauthRecord> =>
  (connection.models.OauthRecord as Model<OauthRecord> | undefined) ??
  connection.model<OauthRecord>('OauthRecord', recordSchema);

export interface OauthClient {
  /** The client id: public. */
  _id: string;
  /** Its registration, as JSON. */
  metadata: string;
  /** Moved on by every grant; a client that nobody has let in is soon forgotten. */
  expires_at: Date;
}

const clientSchema = new mongoose.Schema<OauthClient>(
  { _id: String, metadata: { type: String, required: true }, expires_at: { type: Date, required: true } },
  { versionKey: false, collection: 'oauth_clients' },
).index({ expires_at: 1 }, { expireAfterSeconds: 0 });

privacy(clientSchema, retain('an application, not a person', '_id', 'metadata', 'expires_at'));

export const oauthClientModel = (connection: Connection): Model<OauthClient> =>
  (connection.models.OauthClient as Model<OauthClient> | undefined) ??
  connection.model<OauthClient>('OauthClient', clientSchema);
