/**
 * The authorization server: oidc-provider, restricted to OAuth 2.1 for public clients. It is loaded at the first
 * request, because it takes about 25 MiB (docs/adr/0011-oauth-and-mcp.md).
 */
import { generateKeyPairSync, hkdfSync } from 'node:crypto';
import type { EventEmitter } from 'node:events';
import {
  findOauthResource,
  OAUTH_COOKIE,
  OAUTH_PATHS,
  OAUTH_SCOPES,
  oauthResources,
} from '@fitness/contracts/oauth.ts';
import { DAY_MS, MINUTE_MS, type Random, SECOND_MS } from '@fitness/shared/kernel/clock.ts';
import { HTTP_STATUS } from '@fitness/shared/kernel/error.ts';
import type { Logger } from '@fitness/shared/kernel/log.ts';
import { toOutage } from '@fitness/shared/kernel/outage.ts';
import { currentScope } from '@fitness/shared/kernel/request-scope.ts';
import { inLanguage } from '@fitness/shared/pages/languages.ts';
import type Provider from 'oidc-provider';
import type { Configuration, errors as ErrorClasses, KoaContextWithOIDC } from 'oidc-provider';
import {
  CLIENT_DEFAULTS,
  CLIENT_METADATA,
  isPrivateUse,
  isRegistered,
  offeredMetadata,
  registrationError,
} from '../domain/oauth-client.ts';
import { buildToken, type GrantSecret, TOKEN_ENTROPY_BYTES, type TokenKind } from '../domain/token.ts';
import { type AdapterDependencies, createAdapterFactory } from './adapter.ts';

export interface ProviderOptions
  extends Omit<AdapterDependencies, 'createGrantRevokedError' | 'createInteractionCompletedError'> {
  random: Random;
  log: Logger;
  /** The cookie keys are derived from it. It must be the same in every replica. */
  secret: string;
  accessTokenMinutes: number;
  refreshTokenDays: number;
  /** Private-use schemes that are accepted in redirect URIs, in addition to reversed domain names. */
  redirectSchemes: readonly string[];
  /** Renders an error that cannot be redirected to the client. */
  renderError: (ctx: KoaContextWithOIDC, code: string) => void;
  /** Renders a page instead of a redirect to the client, with a link to the same address. */
  renderLeaving: (ctx: KoaContextWithOIDC, location: string) => void;
}

type Library = typeof import('oidc-provider');

/** Refreshing a token does not extend the grant. */
export const GRANT_LIFETIME_MS = 365 * DAY_MS;
const CODE_LIFETIME_MS = MINUTE_MS;
const INTERACTION_LIFETIME_MS = 15 * MINUTE_MS;

/** The library calls a validator only for an extra property. This property of RFC 7591 has no other use here. */
const VALIDATED_PROPERTY = 'software_version';

export const cookieKey = (secret: string, purpose: string): string =>
  Buffer.from(hkdfSync('sha256', secret, '', `oauth ${purpose}`, 32)).toString('base64url');

const toSeconds = (durationMs: number): number => durationMs / SECOND_MS;

/** Whether `error` is the library's error for an interaction that does not exist. */
export const isSessionNotFound = async (error: unknown): Promise<boolean> => {
  const { errors } = await import('oidc-provider');
  return error instanceof errors.SessionNotFound;
};

export const createProvider = async (options: ProviderOptions): Promise<Provider> => {
  const library = await import('oidc-provider');
  const provider = new library.Provider(options.issuer, configuration(options, library));
  // Trusts the forwarded headers, which the plugin sets to the configured origin.
  provider.proxy = true;
  useOwnTokenFormat(provider, options.random);
  allowAnyLoopbackPort(provider);
  provider.use((ctx, next) => redirectOnlyTheSignedIn(provider, options, ctx as KoaContextWithOIDC, next));
  provider.use(async (ctx, next) => {
    await next();
    if (ctx.oidc?.route === 'registration' && ctx.status === 201) {
      const metadata = ctx.body as Record<string, unknown>;
      ctx.body = Object.fromEntries(
        CLIENT_METADATA.flatMap((name) => (metadata[name] === undefined ? [] : [[name, metadata[name]]])),
      );
    }
  });
  const report = (error: unknown): void =>
    options.log.error({ err: error }, 'the authorization server failed');
  provider.on('server_error', (ctx, error) => {
    report(error);
    answerOutage(ctx, error);
  });
  (provider as EventEmitter).on('error', report);
  return provider;
};

const AUTHORIZATION_ROUTES: ReadonlySet<string | undefined> = new Set(['authorization', 'resume']);

/**
 * Anyone may register a client with any address. A link to this origin must therefore not lead there before the user has
 * signed in (RFC 9700, 4.11.2), whatever is wrong with the request. Each request begins signed out. The session of an earlier
 * request in the same browser only allows its user to be redirected.
 */
const redirectOnlyTheSignedIn = async (
  provider: Provider,
  { issuer, renderLeaving }: ProviderOptions,
  ctx: KoaContextWithOIDC,
  next: () => Promise<void>,
): Promise<void> => {
  const isNew = ctx.path === OAUTH_PATHS.authorize;
  const earlier = isNew ? ctx.cookies.get(cookieNames(issuer).session, { signed: true }) : undefined;
  if (isNew) delete ctx.req.headers.cookie;
  await next();
  const location = ctx.response.get('location');
  if (location === '' || !AUTHORIZATION_ROUTES.has(ctx.oidc?.route)) return;
  if (new URL(location, issuer).origin === new URL(issuer).origin) return;
  const session = earlier === undefined ? ctx.oidc.session : await provider.Session.find(earlier);
  if (session?.accountId === undefined) renderLeaving(ctx, location);
};

/** Returns 503 while the database is unreachable, for which the library returns 500. */
const answerOutage = (ctx: KoaContextWithOIDC, error: unknown): void => {
  const outage = toOutage(error, currentScope());
  if (outage === undefined || ctx.status !== HTTP_STATUS.internal) return;
  ctx.status = HTTP_STATUS.unavailable;
  ctx.set('retry-after', String(outage.retryAfterS));
  // RFC 6749, 4.1.2.1
  if (typeof ctx.body === 'object') ctx.body = { error: 'temporarily_unavailable' };
};

const configuration = (options: ProviderOptions, library: Library): Configuration => ({
  adapter: createAdapterFactory({
    ...options,
    createGrantRevokedError: () => new library.errors.InvalidGrant('the grant was revoked'),
    createInteractionCompletedError: () =>
      new library.errors.SessionNotFound('the interaction has already been completed'),
  }),
  // The library requires a key, although nothing is signed: there are no ID tokens.
  jwks: { keys: [generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' })] },
  scopes: [],
  claims: {},
  responseTypes: ['code'],
  clientAuthMethods: ['none'],
  clientDefaults: {
    ...CLIENT_DEFAULTS,
    id_token_signed_response_alg: 'ES256',
  },
  extraClientMetadata: {
    properties: [VALIDATED_PROPERTY],
    validator: (_ctx, _name, _value, metadata) =>
      validateRegistration(metadata, options.redirectSchemes, library.errors),
  },
  ...lifetimes(options),
  cookies: cookies(options),
  routes: {
    authorization: OAUTH_PATHS.authorize,
    token: OAUTH_PATHS.token,
    registration: OAUTH_PATHS.register,
    revocation: OAUTH_PATHS.revoke,
  },
  features: features(options, library.errors),
  interactions: {
    url: ({ query }, { uid }) => {
      const path = `${OAUTH_PATHS.interaction}/${uid}`;
      return typeof query.lang === 'string' ? inLanguage(query.lang, path) : path;
    },
    policy: policy(library),
  },
  findAccount: async (_ctx, accountId) => {
    const user = await options.store.users.find(Number(accountId));
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
  renderError: (ctx, { error }) => options.renderError(ctx, error),
});

const lifetimes = (options: ProviderOptions): Pick<Configuration, 'ttl'> => ({
  ttl: {
    AccessToken: toSeconds(options.accessTokenMinutes * MINUTE_MS),
    RefreshToken: toSeconds(options.refreshTokenDays * DAY_MS),
    AuthorizationCode: toSeconds(CODE_LIFETIME_MS),
    Grant: toSeconds(GRANT_LIFETIME_MS),
    Interaction: toSeconds(INTERACTION_LIFETIME_MS),
    Session: toSeconds(INTERACTION_LIFETIME_MS),
  },
});

/** Cookies that remove the session from the browser. */
export const endingSessionCookies = (issuer: string): string[] => {
  const { session } = cookieNames(issuer);
  const secure = issuer.startsWith('https:') ? '; Secure' : '';
  return [session, `${session}.sig`].map(
    (name) =>
      `${name}=; Path=${SESSION_PATH}; Expires=Thu, 01 Jan 1970 00:00:00 GMT; HttpOnly; SameSite=Lax${secure}`,
  );
};

const SESSION_PATH = '/oauth';
/** Each interaction has a path of its own, which the prefix `__Host-` does not allow. */
const cookieNames = (issuer: string) => {
  const prefix = issuer.startsWith('https:') ? `__Secure-${OAUTH_COOKIE}` : OAUTH_COOKIE;
  return { session: `${prefix}_session`, interaction: `${prefix}_interaction`, resume: `${prefix}_resume` };
};

/** A session serves one authorization request. The next one asks for the password again. */
const cookies = ({ secret, issuer }: ProviderOptions): NonNullable<Configuration['cookies']> => ({
  keys: [cookieKey(secret, 'cookies')],
  names: cookieNames(issuer),
  long: { signed: true, httpOnly: true, sameSite: 'lax', overwrite: true, path: SESSION_PATH },
  short: { signed: true, httpOnly: true, sameSite: 'lax', overwrite: true },
});

const features = (
  options: ProviderOptions,
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
    idFactory: () => options.random.uuid(),
  },
  revocation: {
    enabled: true,
    allowedPolicy: (_ctx, client, token) => token.clientId === client.clientId,
  },
  resourceIndicators: {
    enabled: true,
    // An authorization request without indicators is for all resources, so that the token request may name one of them.
    // A token is for one resource: the first, which is the origin unless the client has named others.
    defaultResource: (_ctx, _client, oneOf) => oneOf?.[0] ?? oauthResources(options.issuer),
    useGrantedResource: () => true,
    getResourceServerInfo: (_ctx, resource) => {
      const audience = findOauthResource(options.issuer, resource);
      if (audience === undefined) throw new errors.InvalidTarget();
      return { scope: OAUTH_SCOPES.join(' '), audience, accessTokenFormat: 'opaque' };
    },
  },
});

/** The library allows any port only for clients of type `native`, and most native clients register without a type. */
const allowAnyLoopbackPort = (provider: Provider): void => {
  provider.Client.prototype.redirectUriAllowed = function redirectUriAllowed(
    this: { redirectUris?: string[] },
    requested: string,
  ): boolean {
    return isRegistered(this.redirectUris ?? [], requested);
  };
};

/** Removes what is unknown or not offered. Called at registration and whenever a client is loaded. */
const validateRegistration = (
  metadata: Record<string, unknown>,
  schemes: readonly string[],
  errors: typeof ErrorClasses,
): void => {
  Object.assign(metadata, offeredMetadata(metadata, schemes));
  const problem = registrationError(metadata, schemes);
  if (problem !== undefined) throw new errors.InvalidClientMetadata(problem);
  const names: readonly string[] = CLIENT_METADATA;
  for (const name of Object.keys(metadata)) if (!names.includes(name)) delete metadata[name];
  // The library refuses private-use schemes for `web`, the default. The response names the type (RFC 7591, 3.2.1).
  if ((metadata.redirect_uris as string[]).some(isPrivateUse)) metadata.application_type = 'native';
};

/** Asks for consent every time: a public client cannot prove that it is the one the user consented to before. */
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

/** Uses the token format of this service (domain/token.ts), which secret scanners and introspection recognize. */
const useOwnTokenFormat = (provider: Provider, random: Random): void => {
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
