/**
 * `/account-deletion`: an account is deleted, and its deletion cancelled, by a browser. Every step is a call of the public
 * API, so that its limits, its order of checks and its guarantees are those of the page.
 */
import type { IncomingMessage } from 'node:http';
import { toAppError } from '@fitness/shared/http/error-handler.ts';
import { API_PREFIX } from '@fitness/shared/http/server.ts';
import { GUEST } from '@fitness/shared/kernel/caller.ts';
import {
  HTTP_STATUS,
  isAppError,
  message,
  unauthenticated,
  unavailable,
} from '@fitness/shared/kernel/error.ts';
import { type Locale, translator } from '@fitness/shared/kernel/i18n/translate.ts';
import { localeOfPage } from '@fitness/shared/pages/languages.ts';
import type { Page } from '@fitness/shared/pages/page.ts';
import { assertSameOrigin } from '@fitness/shared/pages/same-origin.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { assertAudience } from '../bearer.ts';
import { type ApiAnswer, type ApiCall, callApi } from '../call-api.ts';
import { clientAddressOf } from '../client-address.ts';
import { readBlockers, type ShownBlocker } from '../deletion-blockers.ts';
import type { Dependencies } from '../dependencies.ts';
import {
  cancelledPage,
  codePage,
  type LoginView,
  loginPage,
  overviewPage,
  type Problem,
  pendingPage,
  refusalPage,
  type ShownSchedule,
  scheduledPage,
} from './pages.ts';
import { cookieOf, csrfOf, endingCookie, isCsrfOf, PAGE_PATH, readVisit, type Visit } from './visit.ts';

type PageDependencies = Pick<
  Dependencies,
  | 'addressLimit'
  | 'agents'
  | 'baseUrl'
  | 'callerOf'
  | 'identity'
  | 'openRequests'
  | 'random'
  | 'serviceTimeoutMs'
  | 'signer'
  | 'trustedProxies'
  | 'urls'
>;

type Fields = Readonly<Record<string, string | undefined>>;
type Guest = Extract<Visit, { kind: 'guest' }>;
type SignedIn = Extract<Visit, { kind: 'user' }>;

/** What the browser gets. `visit`: the one that its cookie names from now on; null: none; undefined: the same. */
type Outcome = ({ page: Page } | { location: string }) & {
  visit?: Visit | null | undefined;
  /** Of the API's answer. */
  retryAfter?: string | undefined;
};

interface Asking {
  request: FastifyRequest;
  locale: Locale;
  dependencies: PageDependencies;
}

interface Account {
  username: string;
  /** Undefined while no deletion is pending. */
  schedule: ShownSchedule | undefined;
}

const FORM = 'application/x-www-form-urlencoded';
const SECRET_BYTES = 24;

export const addAccountDeletion = async (
  app: FastifyInstance,
  dependencies: PageDependencies,
): Promise<void> => {
  const { addressLimit, baseUrl, openRequests, trustedProxies } = dependencies;
  const asking = (request: FastifyRequest): Asking => {
    const locale = localeOfPage(request);
    // The API answers, and sends its SMS, in the language of the page.
    request.headers['accept-language'] = locale;
    return { request, locale, dependencies };
  };
  await app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser(FORM, (_request, payload, done) => {
      openRequests
        .readBody(payload as IncomingMessage)
        .then((body) => done(null, Object.fromEntries(new URLSearchParams(body.toString()))), done);
    });
    scope.setErrorHandler((error, request, reply) => sendRefusal(error, request, reply));
    scope.addHook('onRequest', async (request, reply) => {
      await addressLimit?.(clientAddressOf(request.raw, trustedProxies), reply);
    });
    scope.get(PAGE_PATH, async (request, reply) =>
      send(reply, baseUrl, await show(asking(request), readVisit(request.headers.cookie))),
    );
    scope.post(PAGE_PATH, async (request, reply) => {
      assertSameOrigin(request.headers, baseUrl);
      const visit = readVisit(request.headers.cookie);
      const fields = (request.body ?? {}) as Fields;
      if (visit === undefined || !isCsrfOf(visit, fields.csrf ?? '')) {
        const page = refusalPage(localeOfPage(request), 403, message('account_deletion.stale'));
        return send(reply, baseUrl, { page });
      }
      return send(reply, baseUrl, await act(asking(request), visit, fields));
    });
  });
};

const show = (asking: Asking, visit: Visit | undefined): Promise<Outcome> => {
  if (visit?.kind !== 'user') return Promise.resolve(showLogin(asking, visit));
  const { step } = asking.request.query as { step?: unknown };
  return whileSignedIn(asking, () => showAccount(asking, visit, step === 'code'));
};

const act = async (asking: Asking, visit: Visit, fields: Fields): Promise<Outcome> => {
  if (visit.kind === 'guest') {
    return fields.action === 'login' ? logIn(asking, visit, fields) : showLogin(asking, visit);
  }
  return whileSignedIn(asking, async () => {
    switch (fields.action) {
      case 'send_code':
        return sendCode(asking, visit, fields);
      case 'confirm':
        return confirm(asking, visit, fields);
      case 'cancel':
        return cancel(asking, visit);
      case 'sign_out':
        await call(asking, visit, { method: 'POST', path: '/auth/logout' });
        return { location: pathOf(asking), visit: null };
      default:
        return showAccount(asking, visit, false);
    }
  });
};

/** A token that is not valid any more leads to the log-in. */
const whileSignedIn = async (asking: Asking, answer: () => Promise<Outcome>): Promise<Outcome> => {
  try {
    return await answer();
  } catch (error) {
    if (!isAppError(error) || error.kind !== 'unauthenticated') throw error;
    return showLogin(asking, undefined, { notice: message('account_deletion.session_over'), status: 401 });
  }
};

const pathOf = ({ locale }: Asking, step = ''): string => `${PAGE_PATH}?lang=${locale}${step}`;

/** Renews the cookie, so that a form that is shown is not about to expire. */
const showLogin = (
  { locale, dependencies }: Asking,
  visit: Guest | undefined,
  view: Omit<LoginView, 'locale' | 'csrf'> = {},
): Outcome => {
  const secret = visit?.secret ?? dependencies.random.bytes(SECRET_BYTES).toString('base64url');
  const guest: Guest = { kind: 'guest', secret };
  return { page: loginPage({ ...view, locale, csrf: csrfOf(guest) }), visit: guest };
};

/** Throws 401 for a visit whose token is not valid any more. */
const call = async (
  { request, dependencies }: Asking,
  visit: Visit,
  apiCall: ApiCall,
): Promise<ApiAnswer> => {
  const { agents, baseUrl, callerOf } = dependencies;
  const answer = await callApi(apiCall, request, {
    ...dependencies,
    agent: agents.ordinary,
    authenticate: async () => {
      if (visit.kind === 'guest') return GUEST;
      const caller = await callerOf(visit.token);
      assertAudience(caller, baseUrl, API_PREFIX);
      return caller;
    },
  });
  if (answer.status === 401) throw unauthenticated();
  return answer;
};

const problemIn = ({ status, body }: ApiAnswer): Problem => {
  const errors = body.errors as Record<string, string[]> | undefined;
  const text = body.message ?? body.error;
  return {
    status,
    text: errors === undefined && typeof text === 'string' ? text : undefined,
    fields: errors ?? {},
  };
};

const retryAfterIn = ({ headers }: ApiAnswer): string | undefined => {
  const value = headers['retry-after'];
  return typeof value === 'string' ? value : undefined;
};

const logIn = async (asking: Asking, visit: Guest, fields: Fields): Promise<Outcome> => {
  const { login = '', password = '', totp = '' } = fields;
  const body = { login, password, ...(totp === '' ? {} : { totp }) };
  const answer = await call(asking, visit, { method: 'POST', path: '/auth/login', body });
  if (answer.status === 200) {
    return { location: pathOf(asking), visit: { kind: 'user', token: String(answer.body.token) } };
  }
  const problem = problemIn(answer);
  const asksForCode = problem.fields.totp !== undefined || totp !== '';
  return {
    ...showLogin(asking, visit, { login, asksForCode, problem }),
    retryAfter: retryAfterIn(answer),
  };
};

const readAccount = async (asking: Asking, visit: SignedIn): Promise<Account> => {
  const answer = await call(asking, visit, { method: 'GET', path: '/auth/me' });
  if (answer.status !== 200) throw unavailable(`/auth/me answered ${answer.status}`);
  const user = (answer.body.user ?? {}) as { username?: string } & {
    [Key in keyof ShownSchedule]?: string | null;
  };
  const { username = '', deletion_requested_at, deletion_scheduled_at } = user;
  const schedule =
    deletion_requested_at == null || deletion_scheduled_at == null
      ? undefined
      : { deletion_requested_at, deletion_scheduled_at };
  return { username, schedule };
};

/** Undefined when they cannot be evaluated, or not be shown to this account: the steps of the deletion check them anyway. */
const findBlockers = async (
  { locale, dependencies }: Asking,
  { token }: SignedIn,
): Promise<ShownBlocker[] | undefined> => {
  const caller = await dependencies.callerOf(token);
  try {
    return await readBlockers(dependencies.identity, caller, translator(locale));
  } catch (error) {
    if (isAppError(error) && error.kind !== 'unauthenticated') return undefined;
    throw error;
  }
};

interface Refused {
  problem?: Problem;
  /** Of a 409. */
  blockers?: ShownBlocker[] | undefined;
}

const showAccount = async (
  asking: Asking,
  visit: SignedIn,
  isCodeStep: boolean,
  { problem, blockers: known }: Refused = {},
): Promise<Outcome> => {
  const view = { locale: asking.locale, csrf: csrfOf(visit), problem };
  const { username, schedule } = await readAccount(asking, visit);
  if (schedule !== undefined) return { page: pendingPage({ ...view, username, schedule }) };
  if (isCodeStep) return { page: codePage({ ...view, username }) };
  const blockers = known ?? (await findBlockers(asking, visit));
  return { page: overviewPage({ ...view, username, blockers }) };
};

/** What both phases have in common: the deletion is scheduled, blocked or refused. */
const deletionOutcome = async (
  asking: Asking,
  visit: SignedIn,
  answer: ApiAnswer,
  isCodeStep: boolean,
): Promise<Outcome> => {
  if (answer.status === 202) {
    // Every credential of the account is revoked, that of this page included.
    return { page: scheduledPage(asking.locale, answer.body as unknown as ShownSchedule), visit: null };
  }
  const problem = problemIn(answer);
  const blockers = answer.status === 409 ? (answer.body.blockers as ShownBlocker[]) : undefined;
  const shown = await showAccount(asking, visit, isCodeStep && blockers === undefined, { problem, blockers });
  return { ...shown, retryAfter: retryAfterIn(answer) };
};

const sendCode = async (asking: Asking, visit: SignedIn, fields: Fields): Promise<Outcome> => {
  const body = { current_password: fields.password ?? '' };
  const answer = await call(asking, visit, { method: 'POST', path: '/auth/delete-account', body });
  // A reloaded page must not send another SMS.
  if (answer.status === 200) return { location: pathOf(asking, '&step=code') };
  return deletionOutcome(asking, visit, answer, false);
};

const confirm = async (asking: Asking, visit: SignedIn, fields: Fields): Promise<Outcome> => {
  const body = { current_password: fields.password ?? '', confirmation_code: fields.code ?? '' };
  const answer = await call(asking, visit, { method: 'POST', path: '/auth/delete-account', body });
  return deletionOutcome(asking, visit, answer, true);
};

const cancel = async (asking: Asking, visit: SignedIn): Promise<Outcome> => {
  const answer = await call(asking, visit, { method: 'DELETE', path: '/auth/delete-account' });
  if (answer.status !== 200) return showAccount(asking, visit, false, { problem: problemIn(answer) });
  await call(asking, visit, { method: 'POST', path: '/auth/logout' }).catch((error: unknown) => {
    // The deletion is cancelled all the same. The session stays in the list of the account's sessions.
    asking.request.log.warn({ err: error }, 'the session of a page could not be ended');
  });
  return { page: cancelledPage(asking.locale), visit: null };
};

const send = (reply: FastifyReply, baseUrl: string, outcome: Outcome): FastifyReply => {
  const { visit, retryAfter } = outcome;
  if (visit === null) reply.header('set-cookie', endingCookie(baseUrl));
  else if (visit !== undefined) reply.header('set-cookie', cookieOf(visit, baseUrl));
  if (retryAfter !== undefined) reply.header('retry-after', retryAfter);
  if ('location' in outcome) return reply.redirect(outcome.location, 303);
  return sendPage(reply, outcome.page);
};

const sendPage = (reply: FastifyReply, { status, headers, html }: Page): FastifyReply =>
  reply.code(status).headers(headers).serializer(String).send(html);

/** As a page. */
const sendRefusal = (error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
  const appError = toAppError(error, request.scope ?? undefined);
  const status = HTTP_STATUS[appError.kind];
  if (status >= 500) {
    request.log.error({ err: appError.cause ?? appError, error_code: appError.code }, appError.message);
  }
  if (appError.headers !== undefined) reply.headers(appError.headers);
  if (appError.retryAfterS !== undefined) reply.header('retry-after', String(appError.retryAfterS));
  return sendPage(reply, refusalPage(localeOfPage(request), status, appError.publicMessage));
};
