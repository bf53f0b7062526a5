/** The stored form of credentials, under the hash of their token. */
import type { SessionPage } from '@fitness/shared/kernel/caller.ts';
import type { Connection } from '@fitness/shared/mongo/connect.ts';
import { erase, schemaOf } from '@fitness/shared/mongo/privacy.ts';
import type { Model } from 'mongoose';
import type { TokenKind } from '../domain/token.ts';
import { guardRevocations } from './revocations.ts';

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

const schema = schemaOf<Token>(
  { versionKey: false, collection: 'tokens' },
  erase('credentials of the account', {
    _id: String,
    user_id: { type: Number, required: true },
    kind: { type: String, required: true },
    token_number: { type: Number, default: null },
    name: { type: String, default: null },
    permissions: { type: [String], default: null },
    grant_id: { type: String, default: null },
    client_id: { type: String, default: null },
  }),
  erase('credentials of the account', {
    audience: { type: String, default: null },
    created_at: { type: Date, required: true },
    ends_at: { type: Date, default: null },
    expires_at: { type: Date, required: true },
    address: { type: String, default: null },
    page: { type: String, default: null },
    last_used_at: { type: Date, default: null },
  }),
)
  .index({ expires_at: 1 }, { expireAfterSeconds: 0 })
  .index({ user_id: 1, kind: 1, token_number: 1 })
  .index({ grant_id: 1 }, { partialFilterExpression: { grant_id: { $gt: '' } } });

guardRevocations(schema, {
  subjectOf: ({ user_id }) => user_id,
  fields: ['user_id', 'kind', 'permissions', 'page', 'expires_at'],
});

export const tokenModel = (connection: Connection): Model<Token> => connection.model<Token>('Token', schema);
