/** The HTTP door of the authorization server, for the gateway alone: what nobody has signed is refused. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { CALLER_HEADER, type CallerSigner } from '@fitness/shared/caller.ts';
import { AppError, message, unauthenticated } from '@fitness/shared/error.ts';
import type { RawReply, RawRequest } from '@fitness/shared/http/define-route.ts';
import { clientAddressOf } from '@fitness/shared/http/server.ts';
import { negotiateLocale } from '@fitness/shared/i18n/negotiate.ts';
import { OAUTH_PATHS, READING_SCOPES } from '@fitness/shared/oauth.ts';
import type { Doors } from '@fitness/shared/service.ts';
import type Provider from 'oidc-provider';
import { createInteractions, type Fields, type InteractionParts, type Outcome } from './interactions.ts';
import { problemPage } from './pages.ts';
import { cookieKey, openProvider, type ProviderParts } from './provider.ts';

export interface OauthDoorParts
  extends Omit<ProviderParts, 'renderError'>,
    Omit<InteractionParts, 'csrfKey'> {
  signer: CallerSigner;
}

type HttpServer = Parameters<NonNullable<Doors['prepareHttp']>>[0];

const MAX_FORM_BYTES = 16 * 1_024;
const FORM = 'application/x-www-form-urlencoded';
/** Nobody asks these of a server of ours; the library would believe them. */
const FORWARDED = ['x-forwarded-host', 'x-forwarded-for', 'x-forwarded-port'];

/** For `prepareHttp` of a service. */
export const createOauthDoor = (parts: OauthDoorParts): ((app: HttpServer) => Promise<void>) => {
  const csrfKey = cookieKey(parts.secret, 'forms');
  const interactions = createInteractions({ ...parts, csrfKey });
  let opening: Promise<Provider> | undefined;
  const provider = (): Promise<Provider> => {
    opening ??= openProvider({ ...parts, renderError }).catch((error: unknown) => {
      opening = undefined;
      throw error;
    });
    return opening;
  };
  return async (app) => {
    await app.register(async (scope) => {
      scope.addHook('onRequest', async (request) => {
        const header = request.headers[CALLER_HEADER];
        const context = await parts.signer.verify(typeof header === 'string' ? header : undefined);
        if (context?.from !== 'gateway') throw unauthenticated();
        speakAsIssuer(request.raw, parts.issuer);
      });
      await scope.register(async (library) => addLibraryRoutes(library, provider));
      await scope.register(async (pages) => addPages(pages, parts.issuer, provider, interactions));
    });
  };
};

/** Whatever host the client has named: links, cookies and the issuer are those of the configured origin. */
const speakAsIssuer = (raw: IncomingMessage, issuer: string): void => {
  const { host, protocol } = new URL(issuer);
  for (const name of FORWARDED) delete raw.headers[name];
  raw.headers.host = host;
  raw.headers['x-forwarded-proto'] = protocol.slice(0, -1);
};

const hidden = { schema: { hide: true } };

const addLibraryRoutes = (app: HttpServer, provider: () => Promise<Provider>): void => {
  // The library reads the body itself.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));
  const handOver = async (request: RawRequest, reply: RawReply): Promise<void> => {
    const answer = (await provider()).callback();
    // A public client may run in a page of whatever origin: nothing here goes by a cookie of its user.
    delete request.raw.headers.origin;
    reply.hijack();
    await answer(request.raw, reply.raw);
  };
  app.get(OAUTH_PATHS.authorize, hidden, (request, reply) => {
    beginAnew(request.raw);
    return handOver(request, reply);
  });
  app.get(`${OAUTH_PATHS.authorize}/:uid`, hidden, handOver);
  for (const path of [OAUTH_PATHS.token, OAUTH_PATHS.register, OAUTH_PATHS.revoke]) {
    app.post(path, hidden, handOver);
  }
};

/**
 * Every request of an app begins with nobody signed in, asks for reading when it does not say for what, and is answered
 * in the query: the library's other ways to answer need scripts, or leave the code in the browser's history.
 */
const beginAnew = (raw: IncomingMessage): void => {
  delete raw.headers.cookie;
  const url = raw.url ?? '';
  const queryAt = url.indexOf('?');
  const params = new URLSearchParams(queryAt < 0 ? '' : url.slice(queryAt));
  if ((params.get('scope') ?? '').trim() === '') params.set('scope', READING_SCOPES.join(' '));
  if (params.has('response_mode') && params.get('response_mode') !== 'query') {
    params.set('response_mode', 'unsupported');
  }
  raw.url = `${OAUTH_PATHS.authorize}?${params.toString()}`;
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
  const visit = async (request: RawRequest, reply: RawReply) => ({
    provider: await provider(),
    raw: request.raw,
    response: reply.raw as ServerResponse,
    uid: (request.params as { uid: string }).uid,
    locale: negotiateLocale(request.headers['accept-language']),
    clientAddress: clientAddressOf(request),
  });
  app.get(path, hidden, async (request, reply) =>
    send(reply, await interactions.show(await visit(request, reply))),
  );
  app.post(path, hidden, async (request, reply) => {
    assertSameOrigin(request, issuer);
    const fields = (request.body ?? {}) as Fields;
    return send(reply, await interactions.answer(await visit(request, reply), fields));
  });
};

/** Our pages send no referrer, and so the `Origin` of their forms is `null`. */
const assertSameOrigin = ({ headers }: RawRequest, issuer: string): void => {
  const site = headers['sec-fetch-site'];
  const { origin } = headers;
  const isOurs = origin === undefined || origin === 'null' || origin === new URL(issuer).origin;
  if (isOurs && (site === undefined || site === 'same-origin')) return;
  throw new AppError({ kind: 'forbidden', code: 'cross_site', message: message('error.forbidden') });
};

const send = (reply: RawReply, outcome: Outcome): RawReply => {
  if ('location' in outcome) return reply.redirect(outcome.location, 303);
  const { status, headers, html } = outcome.page;
  return reply.code(status).headers(headers).serializer(String).send(html);
};

const renderError: ProviderParts['renderError'] = (ctx, code) => {
  const locale = negotiateLocale(ctx.get('accept-language'));
  const isLost = code === 'invalid_request' && ctx.oidc.client === undefined && ctx.oidc.params === undefined;
  const { html, headers } = problemPage(locale, ctx.status, isLost ? undefined : code);
  ctx.set(headers);
  ctx.body = html;
};
