/** The shared behavior of pages with forms: parsing, CSRF protection and responses. */
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { keepConnection, logFailure, toAppError } from '../http/error-handler.ts';
import { HTTP_STATUS, type Message } from '../kernel/error.ts';
import type { Locale } from '../kernel/i18n/translate.ts';
import { localeOfPage } from './languages.ts';
import type { Page } from './page.ts';
import { assertSameOrigin } from './same-origin.ts';
import type { Guest, Visit, Visits } from './visit.ts';
import type { PageContext, PageDependencies } from './visitor.ts';

export type Fields = Readonly<Record<string, string | undefined>>;

/** The response to a browser. `visit` replaces the visit in the cookie; null removes the cookie, and undefined leaves it unchanged. */
export type Outcome = ({ page: Page } | { location: string }) & {
  visit?: Visit | null | undefined;
  /** `Retry-After` of the API's response. */
  retryAfter?: string | undefined;
};

interface FormPagesOptions {
  visits: Visits;
  /** The message for a form that belongs to another visit. */
  stale: Message;
  /** The page for a request that cannot be completed. */
  refusalPage(locale: Locale, status: number, reason: Message): Page;
  addRoutes(scope: FastifyInstance, pages: FormPages): void;
}

interface FormPages {
  contextOf(request: FastifyRequest): PageContext;
  /** Runs `act` if the form comes from this origin and this visit, and sends the outcome. */
  submit(
    request: FastifyRequest,
    reply: FastifyReply,
    act: (context: PageContext, visit: Visit, fields: Fields) => Promise<Outcome>,
  ): Promise<FastifyReply>;
  send(reply: FastifyReply, outcome: Outcome): FastifyReply;
}

const FORM = 'application/x-www-form-urlencoded';
const SECRET_BYTES = 24;

/** Creates a visit for a visitor who is not signed in. */
export const newGuest = ({ dependencies: { random } }: PageContext): Guest => ({
  kind: 'guest',
  secret: random.bytes(SECRET_BYTES).toString('base64url'),
});

export const addFormPages = async (
  app: FastifyInstance,
  dependencies: PageDependencies,
  options: FormPagesOptions,
): Promise<void> => {
  const { baseUrl, limitAddress, readForm } = dependencies;
  const { visits, stale, refusalPage, addRoutes } = options;
  const refuse = (request: FastifyRequest, reply: FastifyReply): FastifyReply =>
    sendPage(reply, refusalPage(localeOfPage(request), 403, stale));
  const pages: FormPages = {
    contextOf: (request) => {
      const locale = localeOfPage(request);
      // API responses and SMS messages use the language of the page.
      request.headers['accept-language'] = locale;
      return { request, locale, dependencies };
    },
    submit: async (request, reply, act) => {
      const visit = visits.read(request.headers.cookie);
      const fields = (request.body ?? {}) as Fields;
      if (visit === undefined || !visits.isCsrfOf(visit, fields.csrf ?? '')) {
        return refuse(request, reply);
      }
      return pages.send(reply, await act(pages.contextOf(request), visit, fields));
    },
    send: (reply, outcome) => {
      const { visit, retryAfter } = outcome;
      if (visit === null) reply.header('set-cookie', visits.endingCookie);
      else if (visit !== undefined) reply.header('set-cookie', visits.cookieOf(visit));
      if (retryAfter !== undefined) reply.header('retry-after', retryAfter);
      if ('location' in outcome) return reply.redirect(outcome.location, 303);
      return sendPage(reply, outcome.page);
    },
  };
  await app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser(FORM, (_request, payload, done) => {
      readForm(payload as IncomingMessage).then(
        (body) => done(null, Object.fromEntries(new URLSearchParams(body.toString()))),
        done,
      );
    });
    scope.setErrorHandler((error, request, reply) => sendRefusal(error, request, reply, refusalPage));
    scope.addHook('onRequest', async (request, reply) => {
      await limitAddress(request, reply);
      if (request.method !== 'POST') return;
      // The check precedes parsing, so a cross-site form costs almost nothing.
      assertSameOrigin(request.headers, baseUrl);
      if (visits.read(request.headers.cookie) === undefined) return refuse(request, reply);
    });
    addRoutes(scope, pages);
  });
};

const sendPage = (reply: FastifyReply, { status, headers, html }: Page): FastifyReply =>
  reply.code(status).headers(headers).serializer(String).send(html);

const sendRefusal = (
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  refusalPage: FormPagesOptions['refusalPage'],
): FastifyReply => {
  const appError = toAppError(error, request.scope ?? undefined);
  const status = HTTP_STATUS[appError.kind];
  logFailure(request, appError);
  keepConnection(reply);
  if (appError.headers !== undefined) reply.headers(appError.headers);
  if (appError.retryAfterS !== undefined) reply.header('retry-after', String(appError.retryAfterS));
  return sendPage(reply, refusalPage(localeOfPage(request), status, appError.publicMessage));
};
