/**
 * Where oidc-provider keeps what it issues: in this service's own collections, so that revoking a user's credentials is
 * one transaction. Nothing is issued under a grant that was revoked, and of any secret only the hash is kept.
 */
import { type Clock, DAY_MS, SECOND_MS } from '@fitness/shared/clock.ts';
import { OAUTH_PATHS } from '@fitness/shared/oauth.ts';
import type { Adapter, AdapterPayload } from 'oidc-provider';
import type { Transact } from '../app/transact.ts';
import { hashToken } from '../domain/token.ts';
import type { NewOauthRecord, OauthRecord, OauthStore } from '../store/oauth.ts';
import type { TokenStore } from '../store/tokens.ts';

/** A client that nobody has let in by then is forgotten: anyone may register one. */
const UNUSED_CLIENT_MS = DAY_MS;

export interface AdapterParts {
  oauth: OauthStore;
  tokens: TokenStore;
  clock: Clock;
  transact: Transact;
  issuer: string;
  /** The error that tells a client that its grant is no more. */
  grantIsGone: () => Error;
  /** The error that tells a browser that somebody else has answered in its place. */
  answeredAlready: () => Error;
}

/** The `_id` of a record. */
export const recordKey = (kind: string, id: string): string => `${kind}:${hashToken(id)}`;

const grantKey = (grantId: string): string => recordKey('Grant', grantId);

/** The account that a record is about, as soon as it is known. */
const userIdOf = ({ accountId, session, result, lastSubmission }: AdapterPayload): number | null => {
  const known =
    accountId ?? session?.accountId ?? result?.login?.accountId ?? lastSubmission?.login?.accountId;
  return known === undefined ? null : Number(known);
};

/** Ids of sessions and interactions are what their cookies hold: they are not written down beside their hash. */
const withoutSecrets = (kind: string, { jti: _jti, ...payload }: AdapterPayload): AdapterPayload => {
  if (kind !== 'Interaction') return payload;
  const { returnTo: _returnTo, session, ...rest } = payload;
  if (session === undefined) return rest;
  const { cookie: _cookie, ...shown } = session;
  return { ...rest, session: shown };
};

export const toRecord = (
  kind: string,
  id: string,
  payload: AdapterPayload,
  expiresAt: Date,
): NewOauthRecord => ({
  _id: recordKey(kind, id),
  user_id: userIdOf(payload),
  grant_id: kind === 'Grant' ? id : (payload.grantId ?? null),
  uid: payload.uid ?? null,
  payload: JSON.stringify(withoutSecrets(kind, payload)),
  expires_at: expiresAt,
});

const toPayload = (kind: string, id: string, record: OauthRecord, issuer: string): AdapterPayload => ({
  ...(JSON.parse(record.payload) as AdapterPayload),
  jti: id,
  ...(record.consumed_at === null ? {} : { consumed: record.consumed_at.getTime() / SECOND_MS }),
  ...(kind === 'Interaction' ? { returnTo: `${issuer}${OAUTH_PATHS.authorize}/${id}` } : {}),
});

/** What the library asks of an adapter and no feature of ours uses. */
const unused = async (): Promise<undefined> => undefined;

export const createAdapterFactory = (parts: AdapterParts): ((kind: string) => Adapter) => {
  const revokeGrant = (grantId: string): Promise<void> =>
    parts.transact((session) => parts.oauth.revokeGrant(session, grantKey(grantId), grantId));
  return (kind) => {
    switch (kind) {
      case 'Client':
        return clientAdapter(parts);
      case 'AccessToken':
        return accessTokenAdapter(parts, revokeGrant);
      case 'AuthorizationCode':
      case 'RefreshToken':
        return grantedAdapter(parts, kind, revokeGrant);
      case 'Interaction':
        return interactionAdapter(parts);
      case 'Grant':
        return { ...recordAdapter(parts, kind), destroy: revokeGrant };
      default:
        return recordAdapter(parts, kind);
    }
  };
};

const clientAdapter = ({ oauth, clock }: AdapterParts): Adapter => ({
  upsert: async (id, metadata) => {
    const forgottenAt = new Date(clock.now().getTime() + UNUSED_CLIENT_MS);
    await oauth.insertClient(id, JSON.stringify(metadata), forgottenAt);
  },
  find: async (id) => {
    const metadata = await oauth.findClient(id, clock.now());
    return metadata === null ? undefined : (JSON.parse(metadata) as AdapterPayload);
  },
  findByUid: unused,
  findByUserCode: unused,
  consume: unused,
  destroy: unused,
  revokeByGrantId: unused,
});

/** What comes before any grant. */
const recordAdapter = ({ oauth, clock, issuer }: AdapterParts, kind: string): Adapter => {
  const read = (id: string, record: OauthRecord | null): AdapterPayload | undefined =>
    record === null ? undefined : toPayload(kind, id, record, issuer);
  return {
    upsert: (id, payload, expiresInS = 0) =>
      oauth.put(toRecord(kind, id, payload, new Date(clock.now().getTime() + expiresInS * SECOND_MS))),
    find: async (id) => read(id, await oauth.find(recordKey(kind, id), clock.now())),
    // Its cookie is not needed there, and not known.
    findByUid: async (uid) => read('', await oauth.findByUid(uid, clock.now())),
    findByUserCode: unused,
    consume: unused,
    destroy: async (id) => {
      await oauth.delete(recordKey(kind, id));
    },
    revokeByGrantId: unused,
  };
};

/** The steps of signing in: whoever goes on from one takes it away, so that nobody else does. */
const interactionAdapter = (parts: AdapterParts): Adapter => ({
  ...recordAdapter(parts, 'Interaction'),
  destroy: async (id) => {
    if (!(await parts.oauth.delete(recordKey('Interaction', id)))) throw parts.answeredAlready();
  },
});

/** Codes and refresh tokens: issued under a grant, used once. */
const grantedAdapter = (
  parts: AdapterParts,
  kind: string,
  revokeGrant: (grantId: string) => Promise<void>,
): Adapter => {
  const { oauth, clock, transact } = parts;
  return {
    ...recordAdapter(parts, kind),
    upsert: async (id, payload, expiresInS = 0) => {
      const record = toRecord(kind, id, payload, new Date(clock.now().getTime() + expiresInS * SECOND_MS));
      const key = grantKey(payload.grantId ?? '');
      const issued = await transact((session) => oauth.insertUnderGrant(session, key, record));
      if (!issued) throw parts.grantIsGone();
    },
    consume: async (id) => {
      const now = clock.now();
      const key = recordKey(kind, id);
      if (await oauth.consume(key, now)) return;
      // Somebody else has used it since it was looked at: one of the two is not the client.
      const grantId = (await oauth.find(key, now))?.grant_id ?? null;
      if (grantId !== null) await revokeGrant(grantId);
      throw parts.grantIsGone();
    },
    // A grant dies as a whole, with its access tokens.
    revokeByGrantId: unused,
  };
};

/** Access tokens are credentials like any other: introspection finds them among the rest. */
const accessTokenAdapter = (
  { oauth, tokens, clock, transact, grantIsGone }: AdapterParts,
  revokeGrant: (grantId: string) => Promise<void>,
): Adapter => ({
  upsert: async (id, { accountId, clientId, grantId, scope }, expiresInS = 0) => {
    const now = clock.now();
    const issued = await transact((session) =>
      oauth.insertAccessToken(session, grantKey(grantId ?? ''), {
        _id: hashToken(id),
        user_id: Number(accountId),
        kind: 'oauth',
        token_number: null,
        name: null,
        permissions: scope === undefined || scope === '' ? [] : scope.split(' '),
        grant_id: grantId ?? null,
        client_id: clientId ?? null,
        created_at: now,
        expires_at: new Date(now.getTime() + expiresInS * SECOND_MS),
      }),
    );
    if (!issued) throw grantIsGone();
  },
  find: async (id) => {
    const token = await oauth.findAccessToken(hashToken(id));
    if (token === null || token.expires_at <= clock.now()) return undefined;
    return {
      kind: 'AccessToken',
      jti: id,
      accountId: String(token.user_id),
      clientId: token.client_id ?? undefined,
      grantId: token.grant_id ?? undefined,
      scope: (token.permissions ?? []).join(' '),
      iat: Math.floor(token.created_at.getTime() / SECOND_MS),
      exp: Math.floor(token.expires_at.getTime() / SECOND_MS),
    };
  },
  findByUid: unused,
  findByUserCode: unused,
  consume: unused,
  destroy: (id) => tokens.delete(hashToken(id)),
  revokeByGrantId: revokeGrant,
});
