/**
 * The authorization server: oidc-provider, cut down to OAuth 2.1 for public clients. It is loaded when it is first
 * needed, because it costs a process that nobody connects to some 25 MiB (docs/adr/0011-oauth-and-mcp.md).
 */
import { generateKeyPairSync, hkdfSync } from 'node:crypto';
import type { EventEmitter } from 'node:events';
import { type Clock, DAY_MS, MINUTE_MS, type Random, SECOND_MS } from '@fitness/shared/clock.ts';
import type { Logger } from '@fitness/shared/log.ts';
import { isOauthResource, OAUTH_PATHS, OAUTH_SCOPES } from '@fitness/shared/oauth.ts';
import type Provider from 'oidc-provider';
import type { Configuration, errors as ErrorClasses, KoaContextWithOIDC } from 'oidc-provider';
import { CLIENT_METADATA, refusalOf } from '../domain/oauth-client.ts';
import { buildToken, type GrantSecret, TOKEN_ENTROPY_BYTES, type TokenKind } from '../domain/token.ts';
import type { UserStore } from '../store/users.ts';
import { type AdapterParts, createAdapterFactory } from './adapter.ts';

export interface ProviderParts extends Omit<AdapterParts, 'grantIsGone' | 'answeredAlready'> {
  users: UserStore;
  clock: Clock;
  random: Random;
  log: Logger;
  /** What the keys of the cookies are derived from, the same in every replica. */
  secret: string;
  accessTokenMinutes: number;
  refreshTokenDays: number;
  /** Answers a browser that cannot be sent back to its client. */
  renderError: (ctx: KoaContextWithOIDC, code: string) => void;
}

type Library = typeof import('oidc-provider');

/** A consent holds for a year at most, however often its tokens are refreshed. */
export const GRANT_LIFETIME_MS = 365 * DAY_MS;
const CODE_LIFETIME_MS = MINUTE_MS;
/** For signing in and consenting. */
const INTERACTION_LIFETIME_MS = 15 * MINUTE_MS;

/** RFC 7591 has it, and nobody needs it: the library calls its validator for a property of our own only. */
const HOOK = 'software_version';

export const cookieKey = (secret: string, purpose: string): string =>
  Buffer.from(hkdfSync('sha256', secret, '', `oauth ${purpose}`, 32)).toString('base64url');

const seconds = (durationMs: number): number => durationMs / SECOND_MS;

export const openProvider = async (parts: ProviderParts): Promise<Provider> => {
  const library = await import('oidc-provider');
  const provider = new library.Provider(parts.issuer, configuration(parts, library));
  // The gateway is the only one who talks to it, and says which origin the client has used.
  provider.proxy = true;
  issueOwnTokens(provider, parts.random);
  provider.use(async (ctx, next) => {
    await next();
    if (ctx.oidc?.route === 'registration' && ctx.status === 201) {
      const metadata = ctx.body as Record<string, unknown>;
      ctx.body = Object.fromEntries(
        CLIENT_METADATA.flatMap((name) => (metadata[name] === undefined ? [] : [[name, metadata[name]]])),
      );
    }
  });
  const report = (error: unknown): void => parts.log.error({ err: error }, 'the authorization server failed');
  provider.on('server_error', (_ctx, error) => report(error));
  (provider as EventEmitter).on('error', report);
  return provider;
};

const configuration = (parts: ProviderParts, library: Library): Configuration => ({
  adapter: createAdapterFactory({
    ...parts,
    grantIsGone: () => new library.errors.InvalidGrant('the grant was revoked'),
    answeredAlready: () => new library.errors.SessionNotFound('the interaction was answered already'),
  }),
  // Nothing is signed: there are no ID tokens. The library wants a key all the same.
  jwks: { keys: [generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' })] },
  scopes: [],
  claims: {},
  responseTypes: ['code'],
  clientAuthMethods: ['none'],
  clientDefaults: {
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
    id_token_signed_response_alg: 'ES256',
  },
  extraClientMetadata: {
    properties: [HOOK],
    validator: (_ctx, _name, _value, metadata) => readRegistration(metadata, library.errors),
  },
  ...lifetimes(parts),
  cookies: cookies(parts.secret),
  routes: {
    authorization: OAUTH_PATHS.authorize,
    token: OAUTH_PATHS.token,
    registration: OAUTH_PATHS.register,
    revocation: OAUTH_PATHS.revoke,
  },
  features: features(parts, library.errors),
  interactions: {
    url: (_ctx, { uid }) => `${OAUTH_PATHS.interaction}/${uid}`,
    policy: policy(library),
  },
  findAccount: async (_ctx, accountId) => {
    const user = await parts.users.findById(Number(accountId));
    return user === null ? undefined : { accountId, claims: async () => ({ sub: accountId }) };
  },
  loadExistingGrant: async ({ oidc }) => {
    const grantId = oidc.result?.consent?.grantId;
    return grantId === undefined ? undefined : oidc.provider.Grant.find(grantId);
  },
  allowOmittingSingleRegisteredRedirectUri: false,
  pkce: { required: () => true },
  issueRefreshToken: async (_ctx, client) => client.grantTypeAllowed('refresh_token'),
  expiresWithSession: async () => false,
  rotateRefreshToken: true,
  revokeGrantPolicy: () => true,
  clientBasedCORS: () => false,
  renderError: (ctx, { error }) => parts.renderError(ctx, error),
});

const lifetimes = (parts: ProviderParts): Pick<Configuration, 'ttl'> => ({
  ttl: {
    AccessToken: seconds(parts.accessTokenMinutes * MINUTE_MS),
    RefreshToken: seconds(parts.refreshTokenDays * DAY_MS),
    AuthorizationCode: seconds(CODE_LIFETIME_MS),
    Grant: seconds(GRANT_LIFETIME_MS),
    Interaction: seconds(INTERACTION_LIFETIME_MS),
    Session: seconds(INTERACTION_LIFETIME_MS),
  },
});

/** The session lives from the log-in to the answer of one request: signing in for one app lets no other one in. */
const cookies = (secret: string): NonNullable<Configuration['cookies']> => ({
  keys: [cookieKey(secret, 'cookies')],
  names: {
    session: 'fitness_oauth_session',
    interaction: 'fitness_oauth_interaction',
    resume: 'fitness_oauth_resume',
  },
  long: { signed: true, httpOnly: true, sameSite: 'lax', overwrite: true, path: '/oauth' },
  short: { signed: true, httpOnly: true, sameSite: 'lax', overwrite: true },
});

const features = (
  parts: ProviderParts,
  errors: typeof ErrorClasses,
): NonNullable<Configuration['features']> => ({
  devInteractions: { enabled: false },
  userinfo: { enabled: false },
  rpInitiatedLogout: { enabled: false },
  pushedAuthorizationRequests: { enabled: false },
  dPoP: { enabled: false },
  registration: {
    enabled: true,
    initialAccessToken: false,
    issueRegistrationAccessToken: false,
    idFactory: () => parts.random.uuid(),
  },
  revocation: {
    enabled: true,
    allowedPolicy: (_ctx, client, token) => token.clientId === client.clientId,
  },
  resourceIndicators: {
    enabled: true,
    // All of ours name the same resource, so that of several any is the one.
    defaultResource: (_ctx, _client, oneOf) => oneOf?.[0] ?? parts.issuer,
    useGrantedResource: () => true,
    getResourceServerInfo: (_ctx, resource) => {
      if (!isOauthResource(parts.issuer, resource)) throw new errors.InvalidTarget();
      return { scope: OAUTH_SCOPES.join(' '), audience: resource, accessTokenFormat: 'opaque' };
    },
  },
});

/** Of what a client says about itself only what we know stays; it is asked at registration and at every look-up. */
const readRegistration = (metadata: Record<string, unknown>, errors: typeof ErrorClasses): void => {
  const refusal = refusalOf(metadata);
  if (refusal !== undefined) throw new errors.InvalidClientMetadata(refusal);
  const kept: readonly string[] = CLIENT_METADATA;
  for (const name of Object.keys(metadata)) if (!kept.includes(name)) delete metadata[name];
};

/** Nobody is let in by an older consent: a public client cannot prove that it is the one that was consented to. */
const policy = ({ interactionPolicy }: Library) => {
  const prompts = interactionPolicy.base();
  prompts
    .get('consent')
    ?.checks.add(
      new interactionPolicy.Check(
        'every_time',
        'consent is asked for every time',
        'consent_required',
        (ctx) =>
          ctx.oidc.result?.consent === undefined
            ? interactionPolicy.Check.REQUEST_PROMPT
            : interactionPolicy.Check.NO_NEED_TO_PROMPT,
      ),
      0,
    );
  return prompts;
};

/** Prefixed and checksummed as all our tokens are, so that a secret scanner finds them and introspection knows them. */
const issueOwnTokens = (provider: Provider, random: Random): void => {
  const kinds: [{ prototype: object }, TokenKind | GrantSecret][] = [
    [provider.AccessToken, 'oauth'],
    [provider.RefreshToken, 'refresh'],
    [provider.AuthorizationCode, 'code'],
  ];
  for (const [model, kind] of kinds) {
    Object.assign(model.prototype, {
      generateTokenId(this: { format?: string }) {
        this.format = 'opaque';
        return buildToken(kind, random.bytes(TOKEN_ENTROPY_BYTES));
      },
    });
  }
};
