/**
 * The storage adapter of oidc-provider. It uses this service's collections, so that one transaction revokes all
 * credentials of a user. Nothing is issued under a revoked grant. Secrets are stored only as hashes.
 */
import { OAUTH_PATHS } from '@fitness/contracts/oauth.ts';
import { type Clock, DAY_MS, SECOND_MS } from '@fitness/shared/kernel/clock.ts';
import type { Adapter, AdapterPayload } from 'oidc-provider';
import { grantKey, hashToken, recordKey } from '../domain/token.ts';
import type { NewOauthRecord, OauthRecord } from '../store/oauth.ts';
import type { Store } from '../store/store.ts';

/** Anyone may register a client. It is deleted if no user consents to it within this time. */
const UNUSED_CLIENT_MS = DAY_MS;

/**
 * How long a refresh token may be used once more. The response to a rotation may be lost, and two parts of an app may
 * refresh at the same time.
 */
const REPEAT_MS = 10 * SECOND_MS;

export interface AdapterDependencies {
  store: Store;
  clock: Clock;
  issuer: string;
  createGrantRevokedError: () => Error;
  /** For an interaction that another request has completed. */
  createInteractionCompletedError: () => Error;
}

/** Null before the user has signed in. */
const userIdOf = ({ accountId, session, result, lastSubmission }: AdapterPayload): number | null => {
  const id = accountId ?? session?.accountId ?? result?.login?.accountId ?? lastSubmission?.login?.accountId;
  return id === undefined ? null : Number(id);
};

/** The ids of sessions and interactions are the values of their cookies, so they are stored only as hashes. */
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
  uid: kind === 'RefreshToken' ? `${payload.grantId}:${payload.rotations ?? 0}` : (payload.uid ?? null),
  payload: JSON.stringify(withoutSecrets(kind, payload)),
  expires_at: expiresAt,
});

const toPayload = (kind: string, id: string, record: OauthRecord, issuer: string): AdapterPayload => ({
  ...(JSON.parse(record.payload) as AdapterPayload),
  jti: id,
  ...(record.consumed_at === null ? {} : { consumed: record.consumed_at.getTime() / SECOND_MS }),
  ...(kind === 'Interaction' ? { returnTo: `${issuer}${OAUTH_PATHS.authorize}/${id}` } : {}),
});

/** For methods of the adapter interface that only disabled features call. */
const unused = async (): Promise<undefined> => undefined;

export const createAdapterFactory = (dependencies: AdapterDependencies): ((kind: string) => Adapter) => {
  const { store } = dependencies;
  const revokeGrant = (grantId: string): Promise<void> =>
    store.transaction((session) => store.oauth.revokeGrant(session, grantKey(grantId)));
  return (kind) => {
    switch (kind) {
      case 'Client':
        return createClientAdapter(dependencies);
      case 'AccessToken':
        return createAccessTokenAdapter(dependencies, revokeGrant);
      case 'AuthorizationCode':
      case 'RefreshToken':
        return createGrantedAdapter(dependencies, kind, revokeGrant);
      case 'Interaction':
        return createInteractionAdapter(dependencies);
      case 'Grant':
        return { ...createRecordAdapter(dependencies, kind), destroy: revokeGrant };
      default:
        return createRecordAdapter(dependencies, kind);
    }
  };
};

const createClientAdapter = ({ store, clock }: AdapterDependencies): Adapter => ({
  upsert: async (id, metadata) => {
    const expiresAt = new Date(clock.now().getTime() + UNUSED_CLIENT_MS);
    await store.oauth.insertClient(id, JSON.stringify(metadata), expiresAt);
  },
  find: async (id) => {
    const metadata = await store.oauth.findClient(id, clock.now());
    return metadata === null ? undefined : (JSON.parse(metadata) as AdapterPayload);
  },
  findByUid: unused,
  findByUserCode: unused,
  consume: unused,
  destroy: unused,
  revokeByGrantId: unused,
});

/** The adapter for sessions, interactions and other records that belong to no grant. */
const createRecordAdapter = ({ store, clock, issuer }: AdapterDependencies, kind: string): Adapter => {
  const read = (id: string, record: OauthRecord | null): AdapterPayload | undefined =>
    record === null ? undefined : toPayload(kind, id, record, issuer);
  return {
    upsert: (id, payload, expiresInS = 0) =>
      store.oauth.put(toRecord(kind, id, payload, new Date(clock.now().getTime() + expiresInS * SECOND_MS))),
    find: async (id) => read(id, await store.oauth.find(recordKey(kind, id), clock.now())),
    // The id is unknown here, because only its hash is stored. The library does not need it.
    findByUid: async (uid) => read('', await store.oauth.findByUid(uid, clock.now())),
    findByUserCode: unused,
    consume: unused,
    destroy: async (id) => {
      await store.oauth.delete(recordKey(kind, id));
    },
    revokeByGrantId: unused,
  };
};

/** If several requests complete the same interaction, one deletes it and the others fail. */
const createInteractionAdapter = (dependencies: AdapterDependencies): Adapter => ({
  ...createRecordAdapter(dependencies, 'Interaction'),
  destroy: async (id) => {
    const deleted = await dependencies.store.oauth.delete(recordKey('Interaction', id));
    if (!deleted) throw dependencies.createInteractionCompletedError();
  },
});

const repeatableSince = (now: Date): Date => new Date(now.getTime() - REPEAT_MS);

const mayRepeat = ({ consumed_at: consumedAt, repeated_at: repeatedAt }: OauthRecord, now: Date): boolean =>
  consumedAt !== null && consumedAt > repeatableSince(now) && repeatedAt == null;

/** The adapter for authorization codes and refresh tokens, which are used once, except for {@link REPEAT_MS}. */
const createGrantedAdapter = (
  dependencies: AdapterDependencies,
  kind: string,
  revokeGrant: (grantId: string) => Promise<void>,
): Adapter => {
  const { store, clock, issuer, createGrantRevokedError } = dependencies;
  return {
    ...createRecordAdapter(dependencies, kind),
    upsert: async (id, payload, expiresInS = 0) => {
      const now = clock.now();
      const record = toRecord(kind, id, payload, new Date(now.getTime() + expiresInS * SECOND_MS));
      const key = grantKey(payload.grantId ?? '');
      const issued = await store.transaction((session) =>
        store.oauth.insertUnderGrant(session, key, record, now),
      );
      if (!issued) throw createGrantRevokedError();
    },
    find: async (id) => {
      const now = clock.now();
      const record = await store.oauth.find(recordKey(kind, id), now);
      if (record === null) return undefined;
      const isRepeatable = kind === 'RefreshToken' && mayRepeat(record, now);
      return toPayload(kind, id, isRepeatable ? { ...record, consumed_at: null } : record, issuer);
    },
    consume: async (id) => {
      const now = clock.now();
      const key = recordKey(kind, id);
      const record = await store.oauth.find(key, now);
      const grantId = record?.grant_id ?? null;
      // If a repetition led to two tokens, the first to be used is the client's. The other may be stolen.
      const used =
        kind === 'RefreshToken' && record !== null && grantId !== null
          ? await store.transaction((session) =>
              store.oauth.useRefreshToken(session, grantKey(grantId), record, {
                now,
                since: repeatableSince(now),
              }),
            )
          : await store.oauth.consume(key, now);
      if (used) return;
      // Used too often or too late: one of the callers is not the client, so the grant is revoked.
      if (grantId !== null) await revokeGrant(grantId);
      throw createGrantRevokedError();
    },
    // The adapter of access tokens revokes the whole grant.
    revokeByGrantId: unused,
  };
};

/** Access tokens are stored with the other credentials, where introspection finds them. */
const createAccessTokenAdapter = (
  { store, clock, createGrantRevokedError }: AdapterDependencies,
  revokeGrant: (grantId: string) => Promise<void>,
): Adapter => ({
  upsert: async (id, { accountId, clientId, grantId, scope, aud }, expiresInS = 0) => {
    const now = clock.now();
    const issued = await store.transaction((session) =>
      store.oauth.insertAccessToken(session, grantKey(grantId ?? ''), {
        _id: hashToken(id),
        user_id: Number(accountId),
        kind: 'oauth',
        token_number: null,
        name: null,
        permissions: scope === undefined || scope === '' ? [] : scope.split(' '),
        grant_id: grantId ?? null,
        client_id: clientId ?? null,
        audience: typeof aud === 'string' ? aud : null,
        created_at: now,
        last_used_at: now,
        expires_at: new Date(now.getTime() + expiresInS * SECOND_MS),
      }),
    );
    if (!issued) throw createGrantRevokedError();
  },
  find: async (id) => {
    const token = await store.oauth.findAccessToken(hashToken(id));
    if (token === null || token.expires_at <= clock.now()) return undefined;
    return {
      kind: 'AccessToken',
      jti: id,
      accountId: String(token.user_id),
      clientId: token.client_id ?? undefined,
      grantId: token.grant_id ?? undefined,
      scope: (token.permissions ?? []).join(' '),
      aud: token.audience ?? undefined,
      iat: Math.floor(token.created_at.getTime() / SECOND_MS),
      exp: Math.floor(token.expires_at.getTime() / SECOND_MS),
    };
  },
  findByUid: unused,
  findByUserCode: unused,
  consume: unused,
  destroy: async (id) => {
    const token = await store.oauth.findAccessToken(hashToken(id));
    if (token === null) return;
    await store.transaction((session) => store.tokens.delete(session, token.user_id, token._id));
  },
  revokeByGrantId: revokeGrant,
});
