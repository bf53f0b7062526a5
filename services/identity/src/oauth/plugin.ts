/** The HTTP plugin of the authorization server. It accepts only requests that the gateway has signed. */
import { IncomingMessage, type ServerResponse } from 'node:http';
import { isOauthScope, OAUTH_PATHS, READING_SCOPES } from '@fitness/contracts/oauth.ts';
import { callerOf, clientAddressOf } from '@fitness/shared/http/admission.ts';
import type { RawReply, RawRequest } from '@fitness/shared/http/define-route.ts';
import type { Locale } from '@fitness/shared/kernel/i18n/translate.ts';
import { type RateLimit, type RateLimiter, rateLimited } from '@fitness/shared/kernel/rate-limit.ts';
import { localeOfPage } from '@fitness/shared/pages/languages.ts';
import { assertSameOrigin } from '@fitness/shared/pages/same-origin.ts';
import type { CallerSigner } from '@fitness/shared/process-identity/caller-context.ts';
import type { Transports } from '@fitness/shared/runtime/serve.ts';
import type Provider from 'oidc-provider';
import {
  createInteractions,
  type Fields,
  type InteractionDependencies,
  type Outcome,
} from './interactions.ts';
import { leavePage, problemPage } from './pages.ts';
import { cookieKey, createProvider, type ProviderOptions } from './provider.ts';

interface OauthPluginOptions
  extends Omit<ProviderOptions, 'renderError' | 'renderLeaving'>,
    Omit<InteractionDependencies, 'csrfKey'> {
  signer: CallerSigner;
  limiter: RateLimiter;
  limits: { clientRegistrations: RateLimit | undefined; authorizations: RateLimit | undefined };
}

type HttpServer = Parameters<NonNullable<Transports['prepareHttp']>>[0];

export const MAX_FORM_BYTES = 16 * 1_024;
export const MAX_REGISTRATION_BYTES = 4 * 1_024;
/** Limit for the URL, whose query is stored until the user has decided. */
export const MAX_AUTHORIZATION_LENGTH = 4 * 1_024;
const FORM = 'application/x-www-form-urlencoded';
/** The library trusts these headers, and clients could set them. */
const FORWARDED_HEADERS = ['x-forwarded-host', 'x-forwarded-for', 'x-forwarded-port'];

/** Returns a plugin for `prepareHttp` of a service. */
export const createOauthPlugin = (options: OauthPluginOptions): ((app: HttpServer) => Promise<void>) => {
  const csrfKey = cookieKey(options.secret, 'forms');
  const interactions = createInteractions({ ...options, csrfKey });
  let loading: Promise<Provider> | undefined;
  const provider = (): Promise<Provider> => {
    loading ??= createProvider({ ...options, renderError, renderLeaving }).catch((error: unknown) => {
      loading = undefined;
      throw error;
    });
    return loading;
  };
  return async (app) => {
    await app.register(async (scope) => {
      scope.addHook('onRequest', async (request) => {
        callerOf(request, options.signer);
        setOrigin(request.raw, options.issuer);
      });
      await scope.register(async (library) => addLibraryRoutes(library, options, provider));
      await scope.register(async (registration) => addRegistration(registration, options, provider));
      await scope.register(async (pages) => addPages(pages, options.issuer, provider, interactions));
    });
  };
};

/** Links, cookies and the issuer always use the configured origin, not the host that the client names. */
const setOrigin = (raw: IncomingMessage, issuer: string): void => {
  const { host, protocol } = new URL(issuer);
  for (const name of FORWARDED_HEADERS) delete raw.headers[name];
  raw.headers.host = host;
  raw.headers['x-forwarded-proto'] = protocol.slice(0, -1);
};

const notInOpenApi = { schema: { hide: true } };

type Limited = Pick<OauthPluginOptions, 'limiter' | 'limits'>;

/** Throws 429 when `limit` is reached for the address of the client. Without `limit` it does nothing. */
const takeLimit = async (limiter: RateLimiter, limit: RateLimit | undefined, request: RawRequest) => {
  if (limit === undefined) return;
  const state = await limiter.consume(limit, clientAddressOf(request));
  if (!state.allowed) throw rateLimited(state);
};

/** Limits the body, which the library parses. The library itself would accept larger ones. */
const acceptBytes = (app: HttpServer, bodyLimit: number): void => {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit }, (_request, body, done) => done(null, body));
};

const addLibraryRoutes = (
  app: HttpServer,
  { limiter, limits }: Limited,
  provider: () => Promise<Provider>,
): void => {
  acceptBytes(app, MAX_FORM_BYTES);
  const handle = (request: RawRequest, reply: RawReply): Promise<void> =>
    passOn(provider, request.raw, reply);
  app.get(OAUTH_PATHS.authorize, notInOpenApi, async (request, reply) => {
    const isTooLong = (request.raw.url ?? '').length > MAX_AUTHORIZATION_LENGTH;
    const params = normalizeAuthorizationRequest(request.raw);
    // Without a challenge, the library would redirect to a client that cannot be trusted with a code.
    if (isTooLong || (params.get('code_challenge') ?? '') === '') {
      const refusal = { status: 400, code: 'invalid_request' };
      return send(reply, { page: problemPage(localeOfPage(request), refusal) });
    }
    // Limited, because each request stores a record.
    await takeLimit(limiter, limits.authorizations, request);
    return handle(request, reply);
  });
  app.get(`${OAUTH_PATHS.authorize}/:uid`, notInOpenApi, handle);
  for (const path of [OAUTH_PATHS.token, OAUTH_PATHS.revoke]) {
    app.post(path, notInOpenApi, (request, reply) =>
      passOn(provider, withBody(request.raw, request.body), reply),
    );
  }
};

const passOn = async (
  provider: () => Promise<Provider>,
  raw: IncomingMessage,
  reply: RawReply,
): Promise<void> => {
  const callback = (await provider()).callback();
  // Public clients run on any origin. These routes do not authenticate by cookie, so the origin does not matter.
  delete raw.headers.origin;
  reply.hijack();
  await callback(raw, reply.raw);
};

/** Anyone may register clients, so their number and size are limited. */
const addRegistration = (
  app: HttpServer,
  { limiter, limits }: Limited,
  provider: () => Promise<Provider>,
): void => {
  acceptBytes(app, MAX_REGISTRATION_BYTES);
  app.addHook('onRequest', (request) => takeLimit(limiter, limits.clientRegistrations, request));
  app.post(OAUTH_PATHS.register, notInOpenApi, (request, reply) =>
    passOn(provider, withBody(request.raw, request.body), reply),
  );
};

/** Restores a request whose body has been read: the library reads the stream itself, and warns if it was read. */
const withBody = (raw: IncomingMessage, body: unknown): IncomingMessage => {
  const { method, url, httpVersion, headers } = raw;
  const unread = Object.assign(new IncomingMessage(raw.socket), { method, url, httpVersion, headers });
  unread.complete = true;
  if (Buffer.isBuffer(body)) unread.push(body);
  unread.push(null);
  return unread;
};

/**
 * Parameters of an authorization request, and the language of its pages. Others, including those of OpenID Connect, are
 * ignored (RFC 6749, 3.1).
 */
const PARAMETERS: ReadonlySet<string> = new Set([
  ...['response_type', 'client_id', 'redirect_uri', 'scope', 'state', 'resource'],
  ...['code_challenge', 'code_challenge_method', 'response_mode', 'prompt', 'lang'],
]);
/** Scopes of OpenID Connect, which clients made for it request by default. */
const OPENID_SCOPES: ReadonlySet<string> = new Set([
  ...['openid', 'profile', 'email', 'address', 'phone', 'offline_access'],
]);
/** RFC 6749, 3.3 */
const SCOPE_TOKEN = /^[!#-[\]-~]+$/;

/**
 * Removes unknown scopes if there are known ones (RFC 6749, 3.3). Returns the scopes for reading if none is requested.
 * Unknown scopes without a known one, and malformed scopes, stay: the request is refused because of them.
 */
const normalizeScope = (requested: string): string => {
  const scopes = requested.split(' ').filter((scope) => scope !== '' && !OPENID_SCOPES.has(scope));
  if (scopes.length === 0) return READING_SCOPES.join(' ');
  const accepted = scopes.filter((scope) => isOauthScope(scope) || !SCOPE_TOKEN.test(scope));
  return (accepted.length === 0 ? scopes : accepted).join(' ');
};

/**
 * Removes unknown and empty parameters from the query. Refuses response modes other than `query`, because they need scripts
 * or leave the code in the browser's history.
 */
const normalizeAuthorizationRequest = (raw: IncomingMessage): URLSearchParams => {
  const url = raw.url ?? '';
  const queryAt = url.indexOf('?');
  const params = new URLSearchParams(queryAt < 0 ? '' : url.slice(queryAt));
  for (const [name, value] of [...params]) {
    if (!PARAMETERS.has(name)) params.delete(name);
    else if (value === '') params.delete(name, value);
  }
  // A parameter that occurs twice is refused.
  if (params.getAll('scope').length < 2) params.set('scope', normalizeScope(params.get('scope') ?? ''));
  if (params.has('response_mode') && params.get('response_mode') !== 'query') {
    params.set('response_mode', 'unsupported');
  }
  // Users sign in and consent for each request, whatever it prompts for. `none` asks that no page be shown.
  if (params.get('prompt') !== 'none') params.delete('prompt');
  raw.url = `${OAUTH_PATHS.authorize}?${params.toString()}`;
  return params;
};

const addPages = (
  app: HttpServer,
  issuer: string,
  provider: () => Promise<Provider>,
  interactions: ReturnType<typeof createInteractions>,
): void => {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(FORM, { parseAs: 'string', bodyLimit: MAX_FORM_BYTES }, (_request, body, done) =>
    done(null, Object.fromEntries(new URLSearchParams(String(body)))),
  );
  const path = `${OAUTH_PATHS.interaction}/:uid`;
  const toInteractionRequest = async (request: RawRequest, reply: RawReply) => ({
    provider: await provider(),
    raw: request.raw,
    response: reply.raw as ServerResponse,
    uid: (request.params as { uid: string }).uid,
    locale: localeOfPage(request),
    clientAddress: clientAddressOf(request),
  });
  app.get(path, notInOpenApi, async (request, reply) =>
    send(reply, await interactions.show(await toInteractionRequest(request, reply))),
  );
  // Checked before the form is read.
  const onRequest = async ({ headers }: RawRequest): Promise<void> => assertSameOrigin(headers, issuer);
  app.post(path, { ...notInOpenApi, onRequest }, async (request, reply) => {
    const fields = (request.body ?? {}) as Fields;
    return send(reply, await interactions.answer(await toInteractionRequest(request, reply), fields));
  });
};

const send = (reply: RawReply, outcome: Outcome): RawReply => {
  if ('location' in outcome) {
    const { location, cookies = [] } = outcome;
    for (const cookie of cookies) reply.header('set-cookie', cookie);
    return reply.redirect(location, 303);
  }
  const { status, headers, html } = outcome.page;
  return reply.code(status).headers(headers).serializer(String).send(html);
};

type Context = Parameters<ProviderOptions['renderError']>[0];

const localeOf = ({ query, headers }: Context): Locale => localeOfPage({ query, headers });

const renderError: ProviderOptions['renderError'] = (ctx, code) => {
  const isExpired =
    code === 'invalid_request' && ctx.oidc.client === undefined && ctx.oidc.params === undefined;
  const { html, headers } = problemPage(localeOf(ctx), {
    status: ctx.status,
    code: isExpired ? undefined : code,
  });
  ctx.set(headers);
  ctx.body = html;
};

const renderLeaving: ProviderOptions['renderLeaving'] = (ctx, location) => {
  // The page after the form of an interaction is shown only once.
  const path = ctx.path === OAUTH_PATHS.authorize ? ctx.url : undefined;
  const { status, html, headers } = leavePage(localeOf(ctx), {
    to: location,
    path,
    name: ctx.oidc.client?.clientName,
  });
  ctx.remove('location');
  ctx.status = status;
  ctx.set(headers);
  ctx.body = html;
};
